import { Anchor } from '@mantine/core';
import { Link } from '@tanstack/react-router';

/** FarmLink links to the page of a farm. */
export function FarmLink({ farm }: { farm: string }) {
  return <Anchor size="sm" fw={600} className="text" renderRoot={(props) => <Link to="/farms/$farm" params={{ farm }} {...props} />}>{farm}</Anchor>;
}
