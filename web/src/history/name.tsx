import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { quoted, write } from '../change/change';
import { useBody } from '../form/body';
import { FormDrawer } from '../form/drawer';
import { pick, withTitles } from '../form/with-titles';

/** NameRevision tags a revision, so that it is kept and can be found. */
export function NameRevision({ of, close }: { of: number; close: () => void }) {
  const { t } = useTranslation();
  const body = useBody('post', '/history/tags');
  const schema = useMemo(() => withTitles(pick(body, ['name', 'comment']), t), [body, t]);
  const title = t('history.name_of', { number: of });
  return (
    <FormDrawer
      title={title}
      close={close}
      id={`tag ${of}`}
      schema={schema}
      when="create"
      seen={{}}
      narrow
      change={(sent) => {
        const comment = sent.comment ? ` --comment ${quoted(String(sent.comment))}` : '';
        return { ...write(title, `sluice tag create ${String(sent.name ?? '')} ${of}${comment}`, 'POST', ['history', 'tags'], { ...sent, revision: of }), difference: `+ ${String(sent.name ?? '')}` };
      }}
    />
  );
}
