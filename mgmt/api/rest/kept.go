package rest

import (
	"slices"
	"sync"

	"github.com/sluicelb/sluice/mgmt/apply"
)

// mostKept is how many answers one Kept has: of so many groups of users at a time.
const mostKept = 4

// Kept has the last answers of an operation as they were written, for who asks again
// while nothing has changed. The zero value has none. Any goroutine may use it.
type Kept struct {
	mu     sync.Mutex
	moment any
	of     []keptAnswer
}

type keptAnswer struct {
	who  any
	body []byte
}

// find is the answer to who asked at a moment, nil when there is none.
func (k *Kept) find(moment, who any) []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.moment != moment {
		return nil
	}
	at := slices.IndexFunc(k.of, func(a keptAnswer) bool { return a.who == who })
	if at < 0 {
		return nil
	}
	return k.of[at].body
}

// keep keeps an answer, and forgets those of other moments.
func (k *Kept) keep(moment, who any, body []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.moment != moment {
		k.moment, k.of = moment, nil
	}
	if len(k.of) == mostKept {
		k.of = slices.Delete(k.of, 0, 1)
	}
	k.of = append(k.of, keptAnswer{who, body})
}

// Keep has the whole list, as it is without any query, kept for those who see the same
// farms. moment is comparable, and another one as soon as anything the list tells has
// changed; it is taken before that is looked at.
func (l List[T]) Keep(in *Kept, moment any) List[T] {
	l.in, l.moment = in, moment
	return l
}

// pickKept is pick for a list that is kept; false when this one is not.
func (l *List[T]) pickKept(c *Call) (is bool, err error) {
	if l.in == nil || c.Request.URL.RawQuery != "" || apply.DraftOf(c.Context) != nil {
		return false, nil
	}
	who := c.By.Who.Sight()
	if l.body = l.in.find(l.moment, who); l.body != nil {
		return true, nil
	}
	if err := l.make(c); err != nil {
		return true, err
	}
	body, err := Encode(*l)
	if err == nil {
		l.body = append(body, '\n')
		l.in.keep(l.moment, who, l.body)
	}
	return true, err
}

// written is the answer as it is sent, nil where it is to be written yet.
func (l List[T]) written() []byte { return l.body }
