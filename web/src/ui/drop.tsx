import { Button, FileButton, Paper, Stack, Text } from '@mantine/core';
import { useState, type DragEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { bytes } from './numbers';

type Props = { label: string; about: string; files: File[]; set: (files: File[]) => void; accept?: string; multiple?: boolean; disabled?: boolean };

/** Drop accepts files that are dropped on it or selected. */
export function Drop({ label, about, files, set, accept, multiple, disabled }: Props) {
  const { t } = useTranslation();
  const [over, setOver] = useState(false);
  const drop = (e: DragEvent) => {
    e.preventDefault();
    setOver(false);
    const all = [...e.dataTransfer.files];
    if (!disabled && all.length > 0) set(multiple ? all : all.slice(0, 1));
  };
  return (
    <Paper withBorder p="md" role="group" aria-label={label} className={over ? 'drop over' : 'drop'} onDragOver={(e) => (e.preventDefault(), setOver(true))} onDragLeave={() => setOver(false)} onDrop={drop}>
      <Stack gap="xs" align="center">
        <Text size="sm" ta="center">
          {about}
        </Text>
        {multiple ? (
          <FileButton onChange={set} accept={accept} multiple disabled={disabled}>
            {(props) => <Choose {...props} label={label} disabled={disabled} />}
          </FileButton>
        ) : (
          <FileButton onChange={(f) => set(f ? [f] : [])} accept={accept} disabled={disabled}>
            {(props) => <Choose {...props} label={label} disabled={disabled} />}
          </FileButton>
        )}
        <Text size="sm" role="status" className="text">
          {files.map((f) => `${f.name} (${bytes(f.size)})`).join(', ') || t('upload.none')}
        </Text>
      </Stack>
    </Paper>
  );
}

function Choose({ onClick, label, disabled }: { onClick: () => void; label: string; disabled?: boolean }) {
  const { t } = useTranslation();
  return (
    <Button size="xs" variant="default" onClick={onClick} disabled={disabled} aria-label={`${t('upload.choose')}: ${label}`}>
      {t('upload.choose')}
    </Button>
  );
}
