/** What a page may say of itself to the table it leads to. */
export interface NavigationState {
  /** Run everything once somebody watches. */
  runs?: boolean;
}
