import { Alert, Anchor, Button, Card, Group, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { quoted, type Change } from '../change/change';
import { ChangeDialog } from '../change/dialog';
import { useMay, type Off } from '../session/may';
import { QueryView } from '../ui/query-view';
import { Back } from '../ui/back';
import { differing, listed, withSwitches, type Switches } from './matrix';
import { MatrixTable } from './matrix-table';
import { NewRole } from './new-role';
import { people } from './queries';
import { steps } from './steps';

/** RolePage shows the permissions of a role. */
export function RolePage() {
  const { t } = useTranslation();
  const go = useNavigate();
  const may = useMay();
  const { role } = useParams({ strict: false }) as { role: string };
  const switches = useQuery(people.role(role));
  const predefined = useQuery(people.roles).data?.find((r) => r.name === role)?.predefined === 'true';
  const [copying, copy] = useState(false);
  return (
    <Stack>
      <Group justify="space-between">
        <Group>
          <Anchor size="sm" renderRoot={(props) => <Link to="/people/roles" {...props} />}>
            ← {t('people.roles')}
          </Anchor>
          <Title order={2} size="h3" className="text">
            {role}
          </Title>
        </Group>
        <Button size="xs" variant="default" {...may.button('rbac-role.create')} onClick={() => copy(true)}>
          {t('role.copy')}
        </Button>
      </Group>
      {predefined && <Alert color="gray">{t('role.fixed')}</Alert>}
      <QueryView of={switches} back={<Back to="/people/roles">{t('people.roles')}</Back>}>{(is) => <Permissions key={role} role={role} before={is as Switches} off={may.button('rbac-role.modify', predefined)} />}</QueryView>
      {copying && <NewRole of={role} close={() => copy(false)} done={(to) => void go({ to: '/people/roles/$role', params: { role: to } })} />}
    </Stack>
  );
}

function Permissions({ role, before, off }: { role: string; before: Switches; off: Off }) {
  const { t } = useTranslation();
  const [edits, edit] = useState<Switches>({}); // on top of changes by others
  const [change, setChange] = useState<Change>();
  const now = withSwitches(before, edits);
  const sent = differing(before, now);
  const count = listed(sent).length;
  return (
    <>
      <Card withBorder p={0}>
        <MatrixTable before={before} now={now} set={(to) => edit(differing(before, to))} disabled={off.disabled} />
      </Card>
      {off.title && <Alert color="gray">{off.title}</Alert>}
      {!off.disabled && (
        <Card withBorder p="xs" className="save">
          <Group justify="space-between">
            <Text size="sm" c="dimmed" role="status">
              {t('role.changed', { count })}
            </Text>
            <Group gap="xs">
              <Button variant="default" disabled={count === 0} onClick={() => edit({})}>
                {t('form.discard')}
              </Button>
              <Button disabled={count === 0} onClick={() => setChange(setRole(role, sent, t('role.set', { name: role })))}>
                {t('form.save')}
              </Button>
            </Group>
          </Group>
        </Card>
      )}
      {change && <ChangeDialog change={change} close={() => setChange(undefined)} done={() => edit({})} />}
    </>
  );
}

function setRole(role: string, sent: Switches, title: string): Change {
  const all = listed(sent);
  const command = `sluice role set ${quoted(role)} ${all.map(([name, on]) => `${name}=${on}`).join(' ')}`;
  return steps(title, [{ command, method: 'PUT', parts: ['rbac', 'roles', role], sent }], all.map(([name, on]) => `${on === 'true' ? '+' : '-'} ${name}`).join('\n'));
}
