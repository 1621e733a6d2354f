import type { ModalProps } from '@mantine/core';
import { lazy, Suspense } from 'react';

const Modal = lazy(() => import('./modal'));

/** LateModal is a dialog that most visits never see: its code comes when it opens. */
export function LateModal(props: ModalProps) {
  return (
    <Suspense fallback={null}>
      {props.opened && <Modal {...props} />}
    </Suspense>
  );
}
