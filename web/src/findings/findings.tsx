import { Badge, Button, Card, Group, Loader, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { queries } from '../api/queries';
import type { Change } from '../change/change';
import { ChangeDialog } from '../change/dialog';
import { useMay } from '../session/may';
import { darkOrange } from '../ui/theme';
import { FarmLink } from '../ui/farm-link';
import { Problem } from '../ui/problem';
import { fixes, type Finding } from './fixes';

const colours = { error: 'red.9', warning: darkOrange, info: 'gray.8' } as const;

/** FindingsPage shows unused or soon-to-fail configuration, with a fix for each finding. */
export function FindingsPage() {
  const { t } = useTranslation();
  const found = useQuery(queries.findings);
  const may = useMay();
  const [change, setChange] = useState<Change>();
  const all = found.data?.params ?? [];
  return (
    <Stack>
      <Title order={1} size="h2">
        {t('nav.findings')}
      </Title>
      {found.error && <Problem error={found.error} again={() => void found.refetch()} />}
      {found.isPending && <Loader size="sm" aria-label="…" />}
      {found.isSuccess && all.length === 0 && <Text c="dimmed">{t('findings.none')}</Text>}
      {all.map((f: Finding, i) => (
        <Card key={`${f.code} ${i}`} withBorder component="section" aria-label={f.message}>
          <Group justify="space-between" align="start">
            <div style={{ flex: '1 1 20rem' }}>
              <Group gap="xs">
                <Badge color={colours[f.severity]}>{t(`severity.${f.severity}`)}</Badge>
                {f.farm && <FarmLink farm={f.farm} />}
              </Group>
              <Text mt={4} className="text">
                {f.message}
              </Text>
              <Text size="sm" c="dimmed" className="text">
                {f.evidence}
              </Text>
              <Text size="sm" className="text">
                {f.advice}
              </Text>
            </div>
            <Group gap={4}>
              {fixes(f, t).map((fix) => (
                <Button key={fix.title} size="compact-sm" variant="default" {...may.call(fix.by)} onClick={() => setChange(fix)}>
                  {fix.title}
                </Button>
              ))}
            </Group>
          </Group>
        </Card>
      ))}
      {change && <ChangeDialog change={change} close={() => setChange(undefined)} />}
    </Stack>
  );
}
