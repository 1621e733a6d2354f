import { Badge } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { darkOrange } from '../ui/theme';
import { urgencyOf } from './expiry';

const colours = { ended: 'red.9', soon: darkOrange, later: 'gray.8' };

/** Days shows the remaining validity of a certificate, as a word and a colour. */
export function Days({ left }: { left: number }) {
  const { t } = useTranslation();
  const urgency = urgencyOf(left);
  return (
    <Badge color={colours[urgency]} tt="none" miw="max-content">
      {urgency === 'ended' ? t('certificates.ended') : t('certificates.days', { count: left })}
    </Badge>
  );
}
