package forward

import (
	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/balance"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/proxyproto"
)

// pair is a client's connection and the one that was made for it to a backend.
// It holds no buffer.
type pair struct {
	w       *worker
	farm    *farmTable // the one it began with
	port    *port      // where the client came in
	client  *loop.Conn
	up      *loop.Conn // nil while there is none
	to      *backend   // nil before a choice
	choice  choice
	tried   balance.Tried
	attempt *balance.Attempt // while it tries backends that are down; nil otherwise
	trying  int64            // since when it does so
	group   *group           // that of the name the client asks for; nil for the others
	place   *places          // what it has a place of; nil without a bound
	began   int64            // when the connect did
	intro   proxyproto.Intake
	opening bool // the client has to say something first
	awaits  int  // it wakes nobody before it has said that many bytes of that; 0 for any
	stands  bool // up is connected
	// of each direction: its end was read and passed on
	clientEnded, backendEnded bool
	ending                    bool // one side takes nothing any more
	clientBulk, backendBulk   bool // many bytes at once come from there
	story                     story
}

// end ends both connections with a reset; by says whose doing it is.
func (p *pair) end(by accesslog.Flags) {
	p.story.flags |= by
	p.client.Abort()
	if p.up != nil {
		p.up.Abort()
	}
	p.forget()
}

// close ends both connections, whose directions have all ended.
func (p *pair) close() {
	p.client.Close()
	p.up.Close()
	p.forget()
}

// forget counts the pair out.
func (p *pair) forget() {
	w := p.w
	p.release()
	p.attempted()
	w.tell(p.farm, accesslog.ProtoTCP, p.client.Peer(), &p.story)
	s := w.farm(p.farm)
	s.Established--
	if !p.stands {
		s.Pending--
	}
	p.place.leave()
	w.busy--
	*p = pair{}
	w.pairs.Put(p)
}
