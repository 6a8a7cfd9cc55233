import { useState } from 'react';
import { prefix } from '../../api/base';
import type { Column, Json } from '../../api/types';
import { pictureIn } from '../display/picture';
import { pictureAddress } from '../display/pictureAddress';
import classes from './CellPicture.module.css';

interface Props {
  projectId: string;
  rowId: string;
  column: Column;
  value: Json;
}

/** The picture that a cell names. Without one, or if it cannot be shown, nothing. */
export function CellPicture({ projectId, rowId, column, value }: Props) {
  const picture = pictureIn(column.header, value);
  const address = picture && pictureAddress(projectId, rowId, column.id, picture);
  const [failed, setFailed] = useState<string>();
  if (!address || failed === address) return null;
  return (
    <div className={classes.frame}>
      <img key={address} src={prefix + address} alt={`Picture in ${column.header}`} onError={() => setFailed(address)} />
    </div>
  );
}
