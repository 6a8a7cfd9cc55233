import { Modal, Text, UnstyledButton, useComputedColorScheme, useMantineColorScheme } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { useLocation } from 'wouter';
import { projectsQuery } from '../../api/queries';
import { Icon } from '../../ui/Icon';
import { type Command, searchCommands } from './commands';
import classes from './Commands.module.css';
import { keyNames } from './keyNames';
import { type CommandContext, tableCommands } from './tableCommands';

interface Props extends Pick<CommandContext, 'table' | 'onPanel' | 'onSelect' | 'onImport' | 'onFind' | 'onHelp'> {
  onClose: () => void;
}

/** More are not drawn: typing a letter is quicker than scrolling. */
const SHOWN_MAX = 60;

/** Finds and runs any action of the page by its name. */
export default function CommandPalette({ onClose, ...context }: Props) {
  const [typed, setTyped] = useState('');
  const [place, setPlace] = useState(0);
  const { back } = useOpener();
  const commands = useCommands(context);
  const shown = searchCommands(commands, typed).slice(0, SHOWN_MAX);
  const active = Math.min(place, shown.length - 1);
  const leave = (command?: Command) => {
    onClose();
    back();
    // After the dialog is gone: a command may move the focus or open another dialog.
    if (command) setTimeout(command.run);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 };
    const step = steps[event.key];
    if (step !== undefined && shown.length > 0) setPlace((active + step + shown.length) % shown.length);
    else if (event.key === 'Enter' && shown[active]) leave(shown[active]);
    else return;
    event.preventDefault();
  };
  return (
    <Modal.Root opened centered={false} yOffset="12vh" size={560} zIndex={400} returnFocus={false} transitionProps={{ duration: 0 }} onClose={() => leave()}>
      <Modal.Overlay backgroundOpacity={0.3} />
      <Modal.Content aria-label="Commands">
        <Modal.Body p={0}>
          <label className={classes.search}>
            <Icon name="search" size={18} />
            <input
              role="combobox"
              aria-label="Find a command"
              aria-expanded
              aria-controls="commands"
              aria-activedescendant={shown.length > 0 ? `command-${active}` : undefined}
              placeholder="What do you want to do?"
              autoComplete="off"
              spellCheck={false}
              data-autofocus
              value={typed}
              onChange={(event) => {
                setTyped(event.currentTarget.value);
                setPlace(0);
              }}
              onKeyDown={onKeyDown}
            />
          </label>
          <CommandList shown={shown} active={active} isGrouped={typed.trim() === ''} onRun={leave} />
          {shown.length === 0 && (
            <Text size="sm" c="dimmed" px={18} pb={18} pt={6} role="status">
              No command matches “{typed.trim()}”.
            </Text>
          )}
        </Modal.Body>
      </Modal.Content>
    </Modal.Root>
  );
}

interface ListProps {
  shown: readonly Command[];
  active: number;
  isGrouped: boolean;
  onRun: (command: Command) => void;
}

function CommandList({ shown, active, isGrouped, onRun }: ListProps) {
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    list.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' });
  }, [active, shown]);
  return (
    <div id="commands" ref={list} role="listbox" aria-label="Commands" className={classes.list}>
      {shown.map((command, place) => (
        <div key={command.label} role="presentation">
          {isGrouped && command.group !== shown[place - 1]?.group && (
            <div className={classes.group} aria-hidden>
              {command.group}
            </div>
          )}
          <UnstyledButton
            id={`command-${place}`}
            role="option"
            tabIndex={-1}
            aria-selected={place === active}
            className={classes.command}
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => onRun(command)}
          >
            <Icon name={command.icon} size={17} />
            <span className={classes.label}>{command.label}</span>
            {!isGrouped && <span className={classes.hint}>{command.group}</span>}
            {command.keys && <kbd className={classes.keys}>{keyNames(command.keys)}</kbd>}
          </UnstyledButton>
        </div>
      ))}
    </div>
  );
}

function useCommands(context: Pick<CommandContext, 'table' | 'onPanel' | 'onSelect' | 'onImport' | 'onFind' | 'onHelp'>): Command[] {
  const { data: projects = [] } = useQuery(projectsQuery);
  const [, onNavigate] = useLocation();
  const { setColorScheme } = useMantineColorScheme();
  const otherScheme = useComputedColorScheme('light') === 'dark' ? 'light' : 'dark';
  return tableCommands({ ...context, projects, onNavigate, otherScheme, onScheme: () => setColorScheme(otherScheme) });
}

/** Remembers what had the focus, to give it back. */
function useOpener() {
  const opener = useRef(document.activeElement);
  return { back: () => opener.current instanceof HTMLElement && opener.current.focus() };
}
