import { Input, Stack, Switch } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import type { FieldProps } from '../form/field';
import { QueryView } from '../ui/query-view';
import { notifications, type Kind } from './queries';

/** KindsInput selects kinds of events, each with its description. */
export function KindsInput({ field, value, set, error, disabled }: FieldProps) {
  const { t } = useTranslation();
  const asked = useQuery(notifications.kinds);
  const chosen = value as string[];
  const flip = (kinds: Kind[], kind: string, on: boolean) => set(kinds.map((k) => k.kind).filter((k) => (k === kind ? on : chosen.includes(k))));
  return (
    <Input.Wrapper label={field.title} description={field.description} error={error} labelElement="div" className="whole">
      <Stack gap="xs" mt="xs" role="group" aria-label={field.title}>
        <QueryView of={asked}>
          {(kinds) =>
            kinds.map((k) => (
              <Switch key={k.kind} size="xs" label={k.kind} description={t(`event.${k.kind}`, { defaultValue: k.description })} disabled={disabled} checked={chosen.includes(k.kind)} onChange={(e) => flip(kinds, k.kind, e.currentTarget.checked)} />
            ))
          }
        </QueryView>
      </Stack>
    </Input.Wrapper>
  );
}
