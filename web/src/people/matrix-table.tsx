import { Button, Switch, Table, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Wide } from '../ui/wide';
import { columns, switched, type Switches } from './matrix';

type Props = { before: Switches; now: Switches; set: (now: Switches) => void; disabled: boolean };

/** MatrixTable shows permissions by section, with a switch for each existing one. */
export function MatrixTable({ before, now, set, disabled }: Props) {
  const { t } = useTranslation();
  const all = columns(now);
  return (
    <Wide label={t('role.permissions')} minWidth={1010}>
      <Table className="matrix" highlightOnHover verticalSpacing={6} horizontalSpacing={6}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th scope="col">{t('role.section')}</Table.Th>
            {all.map((p) => (
              <Table.Th key={p} scope="col" title={p}>
                {t(`permission.${p}`, { defaultValue: p })}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {Object.keys(now).map((section) => (
            <Table.Tr key={section}>
              <Table.Th scope="row">
                <Text span size="sm" fw={600}>
                  {t(`section.${section}`, { defaultValue: section })}
                </Text>
                {!disabled && <Whole section={section} now={now} set={set} />}
              </Table.Th>
              {all.map((p) => (
                <Table.Td key={p}>
                  {now[section][p] !== undefined && (
                    <Cell name={`${section}.${p}`} on={now[section][p] === 'true'} edited={now[section][p] !== before[section]?.[p]} flip={disabled ? undefined : (on) => set(switched(now, section, p, on))} />
                  )}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Wide>
  );
}

/** Cell is one permission: a switch, or an icon if it cannot be changed. */
function Cell({ name, on, edited, flip }: { name: string; on: boolean; edited: boolean; flip?: (on: boolean) => void }) {
  const { t } = useTranslation();
  if (flip) return <Switch size="sm" aria-label={name} title={name} checked={on} className={edited ? 'edited' : undefined} onChange={(e) => flip(e.currentTarget.checked)} />;
  return (
    <Text span size="sm" c={on ? undefined : 'dimmed'} fw={on ? 700 : 400} title={name} role="img" aria-label={`${name}: ${t(on ? 'people.yes' : 'people.no')}`}>
      {on ? '✓' : '–'}
    </Text>
  );
}

/** Whole grants all permissions of a section, or revokes them if all are granted. */
function Whole({ section, now, set }: { section: string } & Pick<Props, 'now' | 'set'>) {
  const { t } = useTranslation();
  const full = Object.values(now[section]).every((on) => on === 'true');
  const word = t(full ? 'role.take' : 'role.give');
  return (
    <Button size="compact-xs" variant="subtle" display="block" px={0} aria-label={`${word}: ${section}`} onClick={() => set(switched(now, section, undefined, !full))}>
      {word}
    </Button>
  );
}
