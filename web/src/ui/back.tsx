import { Button } from '@mantine/core';
import { Link } from '@tanstack/react-router';

/** Back is a button that links to another page of the GUI. */
export function Back({ to, children }: { to: string; children: string }) {
  return (
    <Button renderRoot={(props) => <Link {...props} to={to as '/'} />} size="xs" variant="default">
      {children}
    </Button>
  );
}
