import { ActionIcon, Button, Menu } from '@mantine/core';
import { useState } from 'react';
import type { View } from '../../api/types';
import { ConfirmDialog } from '../../ui/ConfirmDialog';
import { Icon } from '../../ui/Icon';
import menu from '../../ui/Menu.module.css';
import { NameDialog } from '../../ui/NameDialog';
import { notify, notifyError } from '../../ui/notify';
import type { Views } from '../views/useViews';
import classes from './Toolbar.module.css';

type Dialog = { kind: 'saveAs' } | { kind: 'rename' | 'delete'; view: View };

/** Saved views as tabs, with actions for unsaved changes. */
export function ViewTabs({ views }: { views: Views }) {
  const [dialog, setDialog] = useState<Dialog>();
  const close = () => setDialog(undefined);
  const attempt = (work: Promise<void>) => void work.catch((error: unknown) => notifyError(error));

  return (
    <nav className={classes.tabs} aria-label="Views">
      <Tab label="All rows" isOpen={!views.view} onOpen={() => views.open(undefined)} />
      {views.views.map((view, place) => (
        <Tab key={view.id} label={`${emoji(view)}${view.name}`} isOpen={view.id === views.view?.id} onOpen={() => views.open(view.id)}>
          <Menu position="bottom-start">
            <Menu.Target>
              <ActionIcon variant="transparent" size="xs" color="gray" aria-label={`Menu for view ${view.name}`}>
                <Icon name="chevronDown" size={14} />
              </ActionIcon>
            </Menu.Target>
            <Menu.Dropdown>
              <Menu.Item leftSection={<Icon name="pencil" />} onClick={() => setDialog({ kind: 'rename', view })}>
                Rename
              </Menu.Item>
              <Menu.Item leftSection={<Icon name="copy" />} onClick={() => copyLink(views.url(view.id))}>
                Copy link
              </Menu.Item>
              <Menu.Item disabled={place === 0} onClick={() => attempt(views.move(view.id, place - 1))}>
                Move left
              </Menu.Item>
              <Menu.Item disabled={place === views.views.length - 1} onClick={() => attempt(views.move(view.id, place + 1))}>
                Move right
              </Menu.Item>
              <Menu.Divider />
              <Menu.Item className={menu.danger} leftSection={<Icon name="trash" />} onClick={() => setDialog({ kind: 'delete', view })}>
                Delete
              </Menu.Item>
            </Menu.Dropdown>
          </Menu>
        </Tab>
      ))}
      <Button variant="subtle" color="gray" size="compact-sm" leftSection={<Icon name="plus" size={15} />} onClick={() => setDialog({ kind: 'saveAs' })}>
        {views.isChanged ? 'Save as view' : 'New view'}
      </Button>
      {views.isChanged && (
        <>
          {views.view && (
            <Button size="compact-sm" variant="light" onClick={() => attempt(views.save())}>
              Save changes to view
            </Button>
          )}
          <Button size="compact-sm" variant="subtle" color="gray" onClick={views.discard}>
            Discard changes
          </Button>
        </>
      )}
      {dialog && <ViewDialog dialog={dialog} views={views} onClose={close} />}
    </nav>
  );
}

function ViewDialog({ dialog, views, onClose }: { dialog: Dialog; views: Views; onClose: () => void }) {
  if (dialog.kind === 'saveAs') {
    return (
      <NameDialog
        title="New view"
        label="Name"
        placeholder="Failed rows, without e-mail …"
        action="Create"
        onSubmit={views.saveAs}
        onClose={onClose}
      />
    );
  }
  if (dialog.kind === 'rename') {
    return (
      <NameDialog
        title="Rename view"
        label="Name"
        initial={dialog.view.name}
        action="Rename"
        onSubmit={(name) => views.rename(dialog.view.id, name)}
        onClose={onClose}
      />
    );
  }
  return (
    <ConfirmDialog
      title={`Delete the view “${dialog.view.name}”?`}
      action="Delete view"
      onConfirm={() => views.remove(dialog.view.id)}
      onClose={onClose}
    >
      This deletes its filters, sorting and hidden columns for everyone. No rows are deleted.
    </ConfirmDialog>
  );
}

interface TabProps {
  label: string;
  isOpen: boolean;
  onOpen: () => void;
  children?: React.ReactNode;
}

function Tab({ label, isOpen, onOpen, children }: TabProps) {
  return (
    <span className={classes.tab} data-open={isOpen || undefined}>
      <button type="button" className={classes.tabButton} aria-current={isOpen ? 'page' : undefined} onClick={onOpen}>
        {label}
      </button>
      {isOpen && children}
    </span>
  );
}

/** Copies a link, or shows it: a page without TLS may not write to the clipboard. */
function copyLink(url: string): void {
  navigator.clipboard?.writeText(url).then(
    () => notify('Link copied.'),
    () => notify(url, 'Copy this link'),
  ) ?? notify(url, 'Copy this link');
}

/** The icon if it is an emoji. Other programs store icon names here. */
function emoji(view: View): string {
  return /^[a-z]/i.test(view.emoji) || view.emoji === '📋' || !view.emoji ? '' : `${view.emoji} `;
}
