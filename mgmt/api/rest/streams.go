package rest

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/auth"
	"github.com/sluicelb/sluice/mgmt/rbac"
)

// AliveEvery is the maximum interval between messages on a stream.
const AliveEvery = 15 * time.Second

// eventWrite is the time limit for sending an event.
const eventWrite = 10 * time.Second

// eventStream is the content type of an event stream (HTML Standard §9.2).
const eventStream = "text/event-stream"

// Renew refreshes the sender and the configuration of a call. It returns false if the
// sender may no longer make the call, because the credential, the user or a permission is
// gone. Long-lived responses need it.
func (c *Call) Renew() bool {
	by, holds := c.sender()
	if !holds {
		return false
	}
	c.By = by
	c.Config, _ = c.host.Applier.CurrentIn(c.Context)
	return by.May(c.op.Needs) && c.checkWhole() == nil
}

// RenewSight refreshes the rights of the sender after a change that may have widened them:
// the creator of a farm sees it.
func (c *Call) RenewSight() {
	if by, holds := c.sender(); holds {
		c.By = by
	}
}

// sender returns the sender of the call with the current rights. It returns false if the
// credential is no longer valid.
func (c *Call) sender() (by auth.Principal, holds bool) {
	if c.host.Renew == nil {
		return c.By, true
	}
	return c.host.Renew(c.Request, c.By)
}

// Sees reports whether the caller sees a farm with that stable ID.
func (c *Call) Sees(id uint32) bool {
	return slices.ContainsFunc(c.Farms(), func(f farm.Farm) bool { return f.ID == id })
}

// Streamed writes a response that is not held in memory, see Events and Download.
type Streamed = func(http.ResponseWriter)

// Sender writes to an event stream. It returns false if the client has gone or is too slow.
type Sender func(parts ...string) bool

// Stream returns an operation whose response is an endless event stream, described by
// about.
func Stream(path string, needs rbac.Permission, summary, what, about string, handler func(*Call) (Streamed, error)) *Operation {
	o := &Operation{Method: Get, Path: path, Needs: needs, Summary: summary, success: http.StatusOK}
	return streamedBy(o, func() huma.Operation { return o.documentedStream(what, about) }, handler)
}

// streamedBy is answeredBy for responses that are not held in memory, for which the library
// has its own type.
func streamedBy(o *Operation, tell func() huma.Operation, handler func(*Call) (Streamed, error)) *Operation {
	answeredBy(o, tell, handler)
	o.enter = entered[func(huma.Context)](tell)
	return o
}

// documentedStream is documented for an endless response.
func (o *Operation) documentedStream(what, about string) huma.Operation {
	d := o.documented(jsonContent)
	d.Description += " The answer is a stream: " + about + "."
	d.Responses[strconv.Itoa(o.success)] = &huma.Response{Description: what,
		Content: map[string]*huma.MediaType{eventStream: {Schema: &huma.Schema{Type: huma.TypeString}}}}
	return d
}

// Events returns a response of events, which tell sends until it returns.
func Events(tell func(Sender)) Streamed {
	return func(out http.ResponseWriter) {
		out.Header().Set("Content-Type", eventStream)
		out.Header().Set("X-Accel-Buffering", "no") // proxies must not buffer it
		control := http.NewResponseController(out)
		tell(func(parts ...string) bool {
			_ = control.SetWriteDeadline(time.Now().Add(eventWrite))
			for _, p := range parts {
				if _, err := out.Write([]byte(p)); err != nil {
					return false
				}
			}
			return control.Flush() == nil
		})
	}
}
