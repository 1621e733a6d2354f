import { Button, Card, Group, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { fileAt } from '../api/files';
import { queries } from '../api/queries';
import { useMay } from '../session/may';
import { Lines } from '../system/lines';
import { QueryView } from '../ui/query-view';

/** FarmLog shows the access log of a farm if it is a file of the appliance, otherwise its destination. */
export function FarmLog() {
  const { t } = useTranslation();
  const may = useMay();
  const { farm } = useParams({ strict: false }) as { farm: string };
  return (
    <QueryView of={useQuery(queries.farm(farm))}>
      {({ params }) => {
        if (String(params.logs) !== 'true') return <Elsewhere farm={farm}>{t('logs.off')}</Elsewhere>;
        if (params.log_sink && params.log_sink !== 'file') return <Elsewhere farm={farm}>{t('logs.elsewhere', { target: `${String(params.log_sink)} ${String(params.log_target ?? '')}`.trim() })}</Elsewhere>;
        const file = `${String(params.log_file || farm)}.log`;
        return (
          <Lines key={file} of={file} exchanges={params.profile === 'http' || params.profile === 'https'}>
            <Button component="a" href={fileAt('system', 'logs', file)} download={file} size="xs" variant="default" {...may.button('log.download')}>
              {t('upload.download')}
            </Button>
          </Lines>
        );
      }}
    </QueryView>
  );
}

/** Elsewhere explains why no lines are shown, with a link to the setting. */
function Elsewhere({ farm, children }: { farm: string; children: ReactNode }) {
  const { t } = useTranslation();
  return (
    <Card withBorder>
      <Group justify="space-between">
        <Text c="dimmed" className="text">
          {children}
        </Text>
        <Button renderRoot={(props) => <Link {...props} to="/farms/$farm/settings" params={{ farm }} />} variant="default" size="xs">
          {t('tab.settings')}
        </Button>
      </Group>
    </Card>
  );
}
