import './app/mantineStyles';
import '@mantine/notifications/styles.css';
import '@fontsource-variable/inter/wght.css';
import './app/tokens.css';
import './app/global.css';
import { MantineProvider } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { queryClient } from './api/queries';
import { onSignedOutElsewhere } from './api/session';
import { App } from './app/App';
import { theme } from './app/theme';
import { watchInputKind } from './ui/inputKind';
import { guardUnsaved } from './ui/unsavedGuard';

const root = document.getElementById('root');
if (!root) throw new Error('index.html has no root element.');

onSignedOutElsewhere(() => window.location.reload());
guardUnsaved();
watchInputKind();

createRoot(root).render(
  <StrictMode>
    <MantineProvider theme={theme} defaultColorScheme="auto">
      <Notifications position="top-center" limit={4} containerWidth={420} className="toasts" />
      <QueryClientProvider client={queryClient}>
        <App />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
