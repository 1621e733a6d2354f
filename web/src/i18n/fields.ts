import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';

type Texts = Record<string, string>;

const languages: Record<string, () => Promise<{ default: Texts }>> = {
  es: () => import('./fields.es.json'),
  de: () => import('./fields.de.json'),
  fr: () => import('./fields.fr.json'),
};

function useTexts() {
  const { i18n } = useTranslation();
  const load = languages[i18n.language];
  return useQuery({ queryKey: ['field texts', i18n.language], queryFn: async () => (await load()).default, enabled: load !== undefined, staleTime: Infinity, retry: 1 });
}

/** What the appliance says about fields, in the language of the page; in English where nobody translated it. */
export function useFieldText(): (english: string) => string {
  const texts = useTexts().data;
  return (english) => (texts && Object.hasOwn(texts, english) ? texts[english] : english);
}

/** Whether these texts are still on their way: a form waits for them, and is not drawn in English before. */
export const useFieldTextsComing = () => useTexts().isLoading;
