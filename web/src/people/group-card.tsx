import { Button, Card, Checkbox, Group, NativeSelect, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { quoted, type Change } from '../change/change';
import { useMay, type Off } from '../session/may';
import type { GroupItem } from './queries';
import { removal, diffLines, steps } from './steps';

type Props = { group: GroupItem; free: string[]; roles: string[]; farms: string[]; ask: (change: Change) => void };

/** GroupCard shows one group: its role, its users, and its farms. */
export function GroupCard({ group, free, roles, farms, ask }: Props) {
  const { t } = useTranslation();
  const may = useMay();
  const name = group.name;
  const word = quoted(name);
  const give = (role: string) =>
    ask(steps(t('group.give', { name, role: role || t('form.none') }), [{ command: `sluice group role ${word} ${role && quoted(role)}`.trim(), method: 'PUT', parts: ['rbac', 'groups', name], sent: { role } }], diffLines({ role: group.role }, { role })));
  const sight = (all: boolean) => {
    const sent = { all_farms: all ? 'true' : 'false' };
    ask(steps(t(all ? 'group.gives_all' : 'group.takes_all', { name }), [{ command: `sluice group set ${word} all_farms=${all}`, method: 'PUT', parts: ['rbac', 'groups', name], sent }], diffLines({ all_farms: group.all_farms }, sent)));
  };
  const add = (kind: 'users' | 'farms', command: string, one: string) =>
    ask(steps(t('group.adds', { name, one }), [{ command: `sluice group ${command} ${word} ${quoted(one)}`, method: 'POST', parts: ['rbac', 'groups', name, kind], sent: { name: one } }], `+ ${kind}: ${one}`));
  const drop = (kind: 'users' | 'farms', command: string, one: string) => ask(removal(t('group.removes', { name, one }), `sluice group ${command} ${word} ${quoted(one)}`, ['rbac', 'groups', name, kind, one], `${kind}: ${one}`));
  return (
    <Card withBorder component="section" aria-label={name}>
      <Group justify="space-between" mb="sm">
        <Title order={2} size="h4" className="text">
          {name}
        </Title>
        <Button
          size="compact-sm"
          variant="default"
          {...may.button('rbac-group.delete')}
          aria-label={`${t('form.delete')} ${name}`}
          onClick={() => ask(removal(t('group.delete', { name }), `sluice group delete ${word}`, ['rbac', 'groups', name], `group: ${name}`))}
        >
          {t('form.delete')}
        </Button>
      </Group>
      <SimpleGrid cols={{ base: 1, md: 3 }}>
        <NativeSelect
          label={t('group.role')}
          aria-label={`${t('group.role')}: ${name}`}
          description={group.role ? undefined : t('group.no_role')}
          {...may.button('rbac-group.modify')}
          value={group.role}
          onChange={(e) => give(e.currentTarget.value)}
          data={[{ value: '', label: t('form.none') }, ...new Set([group.role, ...roles].filter(Boolean))]}
        />
        <Members label={t('people.users')} of={name} names={group.users} others={may.allFarms ? free : []} off={may.button('rbac-group.modify')} add={(one) => add('users', 'add', one)} drop={(one) => drop('users', 'remove', one)} />
        <Members
          label={t('nav.farms')}
          of={name}
          names={group.resources.farms}
          others={farms.filter((f) => !group.resources.farms.includes(f))}
          off={may.button('rbac-group.modify')}
          add={(one) => add('farms', 'add-farm', one)}
          drop={(one) => drop('farms', 'remove-farm', one)}
        >
          <Checkbox
            label={t('group.all_farms')}
            aria-label={`${t('group.all_farms')}: ${name}`}
            description={t('group.all_farms_about')}
            {...may.button('rbac-group.modify')}
            checked={group.all_farms === 'true'}
            onChange={(e) => sight(e.currentTarget.checked)}
          />
        </Members>
      </SimpleGrid>
    </Card>
  );
}

type MembersProps = { label: string; of: string; names: string[]; others: string[]; off: Off; add: (name: string) => void; drop: (name: string) => void; children?: ReactNode };

/** Members lists the users or farms of a group. */
function Members({ label, of, names, others, off, add, drop, children }: MembersProps) {
  const { t } = useTranslation();
  return (
    <Stack gap={4} role="group" aria-label={`${label}: ${of}`}>
      <Text size="sm" fw={600}>
        {label}
      </Text>
      {children}
      {names.length === 0 && (
        <Text size="sm" c="dimmed">
          {t('form.none')}
        </Text>
      )}
      {names.map((n) => (
        <Group key={n} justify="space-between" wrap="nowrap">
          <Text size="sm" className="text">
            {n}
          </Text>
          <Button size="compact-xs" variant="default" {...off} aria-label={t('group.remove', { name: n })} onClick={() => drop(n)}>
            {t('group.remove_short')}
          </Button>
        </Group>
      ))}
      {others.length > 0 && (
        <NativeSelect size="xs" {...off} aria-label={`${t('form.add')}: ${label}, ${of}`} value="" onChange={(e) => e.currentTarget.value && add(e.currentTarget.value)} data={[{ value: '', label: t('form.add') }, ...others]} />
      )}
    </Stack>
  );
}
