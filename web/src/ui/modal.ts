export { Modal as default } from './dialog';
