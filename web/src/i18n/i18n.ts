import i18next from 'i18next';
import { initReactI18next } from 'react-i18next';
import en from './en.json';

/** The languages there are, by their own names; all but English are loaded when chosen. */
export const languages = { en: 'English', es: 'Español', de: 'Deutsch', fr: 'Français' } as const;
export type Language = keyof typeof languages;

const kept = 'sluice.language';

type Texts = () => Promise<{ default: object }>;

/** The texts of what every page has. English is there at once. */
const shells: Record<Exclude<Language, 'en'>, Texts> = {
  es: () => import('./es.json'),
  de: () => import('./de.json'),
  fr: () => import('./fr.json'),
};

/** The texts of pages that are loaded when somebody goes there. */
const pages: Record<Language, Texts> = {
  en: () => import('./pages.en.json'),
  es: () => import('./pages.es.json'),
  de: () => import('./pages.de.json'),
  fr: () => import('./pages.fr.json'),
};

const loaded = new Set<Texts>();
let paged = false;

async function load(language: Language, texts: Texts) {
  if (loaded.has(texts)) return;
  i18next.addResourceBundle(language, 'translation', (await texts()).default, true);
  loaded.add(texts);
}

/** Has the texts of the other pages beside them, in the language chosen and in English. */
export async function loadPageTexts() {
  paged = true;
  await Promise.all([load('en', pages.en), load(i18next.language as Language, pages[i18next.language as Language])]);
}

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
  await changeLanguage(preferred(), false).catch(() => undefined); // then in English
}

/** Changes the language, and keeps the choice in this browser. */
export async function changeLanguage(language: Language, keep = true) {
  if (language !== 'en') await load(language, shells[language]);
  if (paged) await load(language, pages[language]);
  await i18next.changeLanguage(language);
  document.documentElement.lang = language;
  if (keep) localStorage.setItem(kept, language);
}
