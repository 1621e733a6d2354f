import type { ModalProps } from '@mantine/core';
import { late } from './late';

const Modal = late<ModalProps>(async () => (await import('./dialog')).Modal);

/** LateModal is a dialog that most visits never see: its code comes when it opens. */
export function LateModal(props: ModalProps) {
  return props.opened && <Modal {...props} />;
}
