import i18next from 'i18next';
import { initReactI18next } from 'react-i18next';
import en from './en.json';

/** The available languages by their own names. All except English are loaded on demand. */
export const languages = { en: 'English', es: 'Español', de: 'Deutsch', fr: 'Français' } as const;
export type Language = keyof typeof languages;

const kept = 'sluice.language';

type Texts = () => Promise<{ default: object }>;

/** The texts that every page needs. English is bundled. */
const shells: Record<Exclude<Language, 'en'>, Texts> = {
  es: () => import('./es.json'),
  de: () => import('./de.json'),
  fr: () => import('./fr.json'),
};

/** The texts of lazily loaded pages. */
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

/** Adds the texts of the other pages, in the current language and in English. */
export async function loadPageTexts() {
  paged = true;
  await Promise.all([load('en', pages.en), load(i18next.language as Language, pages[i18next.language as Language])]);
}

function known(name: string | null | undefined): Language | undefined {
  const short = name?.slice(0, 2);
  return short !== undefined && short in languages ? (short as Language) : undefined;
}

/** The stored language, or else the browser's. */
function preferred(): Language {
  return known(localStorage.getItem(kept)) ?? navigator.languages.map(known).find((l) => l !== undefined) ?? 'en';
}

/** Loads the texts before the first page is rendered. */
export async function initLanguage() {
  await i18next.use(initReactI18next).init({
    lng: 'en',
    fallbackLng: 'en',
    resources: { en: { translation: en } },
    interpolation: { escapeValue: false }, // React escapes
  });
  await changeLanguage(preferred(), false).catch(() => undefined); // falls back to English
}

/** Changes the language and stores the choice in this browser. */
export async function changeLanguage(language: Language, keep = true) {
  if (language !== 'en') await load(language, shells[language]);
  if (paged) await load(language, pages[language]);
  await i18next.changeLanguage(language);
  document.documentElement.lang = language;
  if (keep) localStorage.setItem(kept, language);
}
