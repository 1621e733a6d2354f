package rest

import (
	"slices"
	"sync"

	"github.com/sluicelb/sluice/mgmt/apply"
)

// mostKept is the number of responses in one Kept, one per group of users.
const mostKept = 4

// Kept caches the last encoded responses of an operation, until the data changes. The zero
// value is empty. Any goroutine may use it.
type Kept struct {
	mu     sync.Mutex
	moment any
	of     []keptAnswer
}

type keptAnswer struct {
	who  any
	body []byte
}

// find returns the response cached for who at that moment, or nil.
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

// keep caches a response and drops the responses of other moments.
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

// Keep caches the whole list, as sent without a query, for all callers who see the same
// farms. moment is comparable and differs as soon as any data of the list changes. It must
// be taken before the data is read.
func (l List[T]) Keep(in *Kept, moment any) List[T] {
	l.in, l.moment = in, moment
	return l
}

// pickKept is pick for a cached list. It returns false if the list is not cached.
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

// written returns the encoded response, or nil if it is not encoded yet.
func (l List[T]) written() []byte { return l.body }
