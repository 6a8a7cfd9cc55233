import { useState } from 'react';
import { prefix } from '../../api/base';
import type { Column, Json } from '../../api/types';
import { imageIn } from '../display/image';
import { imageAddress } from '../display/imageAddress';
import classes from './CellImage.module.css';

interface Props {
  projectId: string;
  rowId: string;
  column: Column;
  value: Json;
}

/** The image that a cell names. Without one, or if it cannot be shown, nothing. */
export function CellImage({ projectId, rowId, column, value }: Props) {
  const image = imageIn(column.header, value);
  const address = image && imageAddress(projectId, rowId, column.id, image);
  const [failed, setFailed] = useState<string>();
  if (!address || failed === address) return null;
  return (
    <div className={classes.frame}>
      <img key={address} src={prefix + address} alt={`Image in ${column.header}`} onError={() => setFailed(address)} />
    </div>
  );
}
