import { Modal } from '@mantine/core';
import classes from './Commands.module.css';
import { keyNames } from './keyNames';

/** What each key does, by what people want to do. */
const KEYS: Record<string, [keys: string, does: string][]> = {
  'Find your way': [
    ['Ctrl + K', 'Find a command'],
    ['Ctrl + F', 'Find in cells; Enter for the next one'],
    ['Arrow keys', 'Move'],
    ['Shift + Arrow keys', 'Select more cells'],
    ['Shift + F10', 'Open the menu of a cell'],
    ['?', 'Show this list'],
  ],
  Edit: [
    ['Enter', 'Edit the cell'],
    ['Delete', 'Clear the selection'],
    ['Ctrl + C', 'Copy'],
    ['Ctrl + V', 'Paste'],
    ['Ctrl + D', 'Fill down'],
    ['Ctrl + Z', 'Undo'],
    ['Ctrl + Shift + Z', 'Redo'],
  ],
  Run: [['Ctrl + Enter', 'Run the selected cells']],
  Details: [
    ['Space', 'Open the details of a cell'],
    ['Arrow keys', 'Go to the next cell'],
    ['Escape', 'Return to the cell'],
  ],
};

/** The keyboard shortcuts of the table. */
export default function KeyboardHelp({ onClose }: { onClose: () => void }) {
  return (
    <Modal opened title="Keyboard shortcuts" size={680} closeButtonProps={{ 'aria-label': 'Close' }} onClose={onClose}>
      <div className={classes.help}>
        {Object.entries(KEYS).map(([group, keys]) => (
          <section key={group}>
            <h3>{group}</h3>
            <dl>
              {keys.map(([names, does]) => (
                <div key={does}>
                  <dt>
                    <kbd className={classes.keys}>{keyNames(names)}</kbd>
                  </dt>
                  <dd>{does}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Modal>
  );
}
