import { Component, type ReactNode } from 'react';
import { ErrorState } from '../ui/ErrorState';

/** React error boundary: shows an error instead of an empty page, also when a chunk of an old version is gone. */
export class ErrorBoundary extends Component<{ children: ReactNode }, { error: unknown }> {
  override state: { error: unknown } = { error: undefined };

  static getDerivedStateFromError(error: unknown): { error: unknown } {
    return { error };
  }

  override render(): ReactNode {
    if (this.state.error === undefined) return this.props.children;
    return <ErrorState isPage error={this.state.error} onRetry={() => window.location.reload()} retryLabel="Reload the page" />;
  }
}
