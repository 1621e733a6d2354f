import { useTranslation } from 'react-i18next';
import type { Field, Schema } from '../api/fields';
import { useFieldText } from '../i18n/fields';

/** Names of fields without an underscore that are no words of a language. */
const compounds = /^(httpsb|nattype|ratelimit|farmname|farmguardian|vport|contimeout|restimeout|wstimeout|reqtimeout|resurrectime|maxbody|maxrequest)$/;

/** Replaces the names of fields and the values of the API in a help text by their labels. */
export function withLabels(help: string, fieldLabel: (name: string) => string | undefined, valueLabel: (value: string) => string | undefined): string {
  return help.replaceAll(/\b[A-Za-z]\w{3,}\b/g, (word) => {
    const label = word.includes('_') || compounds.test(word) ? fieldLabel(word) : undefined;
    return label ?? valueLabel(word) ?? word;
  });
}

/** Returns the label of a value, e.g. Round robin for ROUND_ROBIN. Most values are their own label. */
export function useValueLabel(): (value: string) => string {
  const { t } = useTranslation();
  return (value) => t(`value.${value}`, { defaultValue: value });
}

/** Returns the help text of a field, in the words of the page. Schemas are those of the form and of its farm. */
export function useHelp(...schemas: (Schema | undefined)[]): (field: Field) => string {
  const { t, i18n } = useTranslation();
  const text = useFieldText();
  const fieldLabel = (name: string) => {
    const title = schemas.map((s) => s?.properties[name]?.title).find((found) => found !== undefined);
    return title && t('form.quoted', { name: text(title) });
  };
  const valueLabel = (value: string) => (i18n.exists(`value.${value}`) ? t(`value.${value}`) : undefined);
  return (field) => withLabels(text(field.description ?? ''), fieldLabel, valueLabel);
}
