import { ActionIcon, Button, Card, Group, Stack, Table, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Schema, Settings } from '../api/fields';
import { queries } from '../api/queries';
import { tagOf } from '../api/tags';
import { settings, write, type Change } from '../change/change';
import { ChangeDialog } from '../change/dialog';
import { SchemaForm } from '../form/form';
import { useMay } from '../session/may';
import { Wide } from '../ui/wide';
import { remove } from './actions';
import { Modal } from '../ui/dialog';

/** A list of rules: its name in the API, the schema of its rules, and whether their order matters. */
type List = { name: string; schema: string; ordered: boolean };

const ofFarms: List[] = [
  { name: 'addheader', schema: 'header_add', ordered: false },
  { name: 'headremove', schema: 'header_remove', ordered: false },
  { name: 'replacerequestheader', schema: 'header_replace', ordered: true },
  { name: 'addresponseheader', schema: 'header_add', ordered: false },
  { name: 'removeresponseheader', schema: 'header_remove', ordered: false },
  { name: 'replaceresponseheader', schema: 'header_replace', ordered: true },
];
const ofServices: List[] = [
  { name: 'rewriteurl', schema: 'url_rewrite', ordered: true },
  { name: 'addrequestheader', schema: 'header_add', ordered: false },
  { name: 'removerequestheader', schema: 'header_remove', ordered: false },
  ...ofFarms.slice(2),
];

type Rule = Settings & { id: number };
/** The rule in the dialog, absent for a new one, and the ETag of the farm it was read from. */
type Edited = { rule?: Rule; match?: string };
type Props = { farm: string; service?: string; object: Settings };

/** Rules shows the header rules of a farm or a service, and the rewrites of a service. */
export function Rules({ farm, service, object }: Props) {
  const { t } = useTranslation();
  const schemas = useQuery(queries.schemas).data;
  if (!schemas) return null;
  return (
    <Card withBorder component="section" aria-labelledby="rules">
      <Title order={2} size="h4" id="rules" mb="xs">
        {t('rules.title')}
      </Title>
      <Stack>
        {(service ? ofServices : ofFarms).map((list) => (
          <RuleList key={list.name} farm={farm} service={service} list={list} schema={schemas[list.schema]} rules={rulesOf(object[list.name])} />
        ))}
      </Stack>
    </Card>
  );
}

const rulesOf = (value: unknown) => (Array.isArray(value) ? (value as Rule[]) : []);

function RuleList({ farm, service, list, schema, rules }: { farm: string; service?: string; list: List; schema: Schema; rules: Rule[] }) {
  const { t } = useTranslation();
  const may = useMay();
  const [edited, edit] = useState<Edited>();
  const [change, setChange] = useState<Change>();
  const parts: (string | number)[] = [...(service ? ['farms', farm, 'services', service] : ['farms', farm]), list.name];
  const title = t(`rules.${list.name}`);
  const fields = Object.keys(schema.properties);
  const command = (verb: string, rest: string) =>
    list.name === 'rewriteurl' ? `sluice rewrite ${verb} ${farm} ${service} ${rest}` : `sluice header ${verb} ${farm} ${list.name} ${rest}${service ? ` --service ${service}` : ''}`;
  return (
    <section aria-label={title}>
      <Group justify="space-between">
        <Text fw={600} size="sm">
          {title}
        </Text>
        <Button size="compact-xs" variant="default" {...may.button('farm.modify')} onClick={() => edit({})} aria-label={`${t('form.add')} ${title}`}>
          {t('form.add')}
        </Button>
      </Group>
      {rules.length > 0 && (
        <Wide label={title} minWidth={480}>
          <Table verticalSpacing={4}>
            <Table.Tbody>
              {rules.map((r, i) => (
                <Table.Tr key={r.id}>
                  {fields.map((f) => (
                    <Table.Td key={f} className="text code">
                      {String(r[f] ?? '')}
                    </Table.Td>
                  ))}
                  <Table.Td>
                    <Group gap={4} justify="flex-end" wrap="nowrap">
                      {list.ordered && (
                        <ActionIcon
                          size="sm"
                          variant="default"
                          {...may.button('farm.modify', i === 0)}
                          aria-label={t('form.up', { name: `${title} ${i}` })}
                          onClick={() => setChange({ ...write(t('form.up', { name: `${title} ${i}` }), command('move', `${i} ${i - 1}`), 'POST', [...parts, i, 'actions'], { position: i - 1 }), position: true })}
                        >
                          ↑
                        </ActionIcon>
                      )}
                      <Button size="compact-xs" variant="default" {...may.button('farm.modify')} onClick={() => edit({ rule: r, match: tagOf(parts) })} aria-label={`${t('form.edit')} ${title} ${i}`}>
                        {t('form.edit')}
                      </Button>
                      <Button size="compact-xs" variant="default" {...may.button('farm.modify')} aria-label={`${t('form.delete')} ${title} ${i}`} onClick={() => setChange({ ...remove(`${t('form.delete')}: ${title} ${i}`, [...parts, i], command('delete', String(i))), position: true })}>
                        {t('form.delete')}
                      </Button>
                    </Group>
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Wide>
      )}
      {edited && (
        <Modal opened onClose={() => edit(undefined)} title={title} size="lg" closeButtonProps={{ 'aria-label': t('palette.close') }}>
          <SchemaForm
            id={[...parts, edited.rule?.id ?? 'new'].join('/')}
            schema={schema}
            when={edited.rule ? 'update' : 'create'}
            seen={edited.rule ?? {}}
            change={(body) =>
              edited.rule
                ? { ...write(title, command('set', `${edited.rule.id} ${settings(body)}`), 'PUT', [...parts, edited.rule.id], body), match: edited.match, position: true }
                : write(title, command('create', settings(body)), 'POST', parts, body)
            }
            done={() => edit(undefined)}
          />
        </Modal>
      )}
      {change && <ChangeDialog change={change} close={() => setChange(undefined)} />}
    </section>
  );
}
