import { Button } from '@mantine/core';
import { Link } from '@tanstack/react-router';

/** Back is a button that leads to another page of the GUI, by its address. */
export function Back({ to, children }: { to: string; children: string }) {
  return (
    <Button renderRoot={(props) => <Link {...props} to={to as '/'} />} size="xs" variant="default">
      {children}
    </Button>
  );
}
