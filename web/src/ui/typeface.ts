/** The app's typeface, on the page and on the grid's canvas. The first one comes with the app. */
export const TYPEFACE = '"Inter Variable", ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif';
