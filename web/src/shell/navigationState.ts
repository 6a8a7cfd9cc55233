/** History state passed to the table page. */
export interface NavigationState {
  /** Run all cells once the table is connected. */
  runs?: boolean;
}
