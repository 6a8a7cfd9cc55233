import { Center, Loader } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { lazy, Suspense, useEffect } from 'react';
import { Redirect, Route, Router, Switch } from 'wouter';
import { prefix } from '../api/base';
import { setSignedOutListener } from '../api/client';
import { sessionQuery } from '../api/queries';
import { SessionContext } from '../shell/session';
import { Shell } from '../shell/Shell';
import { SignInPage } from '../signin/SignInPage';
import { TableSkeleton } from '../table/TableSkeleton';
import { DiscardDialog } from '../ui/DiscardDialog';
import { ErrorState } from '../ui/ErrorState';
import { unsaved } from '../ui/unsaved';
import { ErrorBoundary } from './ErrorBoundary';
import { NotFoundPage } from './NotFoundPage';

const loadProjects = () => import('../projects/ProjectsPage');
const ProjectsPage = lazy(loadProjects);
const loadTable = () => import('../table/TablePage');
const TablePage = lazy(loadTable);
const SettingsPage = lazy(() => import('../settings/SettingsPage'));
const ProjectSettingsPage = lazy(() => import('../settings/ProjectSettingsPage'));

// Preload the page's code while the session is read.
if (/\/projects\/[^/]+\/?$/.test(window.location.pathname)) void loadTable();
else if (!/\/settings\b/.test(window.location.pathname)) void loadProjects();

export function App() {
  const queryClient = useQueryClient();
  const session = useQuery(sessionQuery);

  useEffect(() => {
    setSignedOutListener(() => queryClient.setQueryData(sessionQuery.queryKey, { signedIn: false }));
  }, [queryClient]);

  if (session.isPending) return <Waiting />;
  if (session.isError) return <ErrorState isPage error={session.error} onRetry={() => void session.refetch()} />;
  if (!session.data.signedIn) return <SignInPage />;

  return (
    <SessionContext value={session.data}>
      <ErrorBoundary>
        <Router base={prefix} aroundNav={(navigate, to, options) => unsaved.guard(() => navigate(to, options))}>
          <Suspense fallback={<Waiting />}>
            <Switch>
              <Route path="/" component={ProjectsPage} />
              <Route path="/projects">
                <Redirect to="/" replace />
              </Route>
              <Route path="/projects/:projectId">
                {({ projectId }) => (
                  <Suspense fallback={<WaitingTable />}>
                    <TablePage key={projectId} projectId={projectId} />
                  </Suspense>
                )}
              </Route>
              <Route path="/projects/:projectId/settings/:section?">
                {({ projectId, section }) => <ProjectSettingsPage projectId={projectId} section={section} />}
              </Route>
              <Route path="/settings/:section?">{({ section }) => <SettingsPage section={section} />}</Route>
              <Route component={NotFoundPage} />
            </Switch>
          </Suspense>
        </Router>
      </ErrorBoundary>
      <DiscardDialog />
    </SessionContext>
  );
}

/** The outline of the table page while its code is loaded. */
function WaitingTable() {
  return (
    <Shell trail={<span />}>
      <TableSkeleton />
    </Shell>
  );
}

function Waiting() {
  return (
    <Center h="100%" role="status" aria-label="Loading">
      <Loader size="sm" />
    </Center>
  );
}
