import i18next from 'i18next';
import { initReactI18next } from 'react-i18next';
import en from './en.json';

/** The languages there are, by their own names; all but English are loaded when chosen. */
export const languages = { en: 'English', es: 'Español', de: 'Deutsch', fr: 'Français' } as const;
export type Language = keyof typeof languages;

const kept = 'sluice.language';

const others: Record<Exclude<Language, 'en'>, () => Promise<{ default: typeof en }>> = {
  es: () => import('./es.json'),
  de: () => import('./de.json'),
  fr: () => import('./fr.json'),
};

function known(name: string | null | undefined): Language | undefined {
  const short = name?.slice(0, 2);
  return short !== undefined && short in languages ? (short as Language) : undefined;
}

/** The language chosen before, or else the browser's. */
function preferred(): Language {
  return known(localStorage.getItem(kept)) ?? navigator.languages.map(known).find((l) => l !== undefined) ?? 'en';
}

/** Makes words ready before the first page is drawn. */
export async function initLanguage() {
  await i18next.use(initReactI18next).init({
    lng: 'en',
    fallbackLng: 'en',
    resources: { en: { translation: en } },
    interpolation: { escapeValue: false }, // React does
  });
  await changeLanguage(preferred(), false);
}

/** Changes the language, and keeps the choice in this browser. */
export async function changeLanguage(language: Language, keep = true) {
  if (language !== 'en' && !i18next.hasResourceBundle(language, 'translation')) {
    i18next.addResourceBundle(language, 'translation', (await others[language]()).default);
  }
  await i18next.changeLanguage(language);
  document.documentElement.lang = language;
  if (keep) localStorage.setItem(kept, language);
}
