package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2/adapters/humaecho"

	"github.com/sluicelb/sluice/mgmt/acme"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// ACME orders certificates and renews them; *acme.Manager is one.
type ACME interface {
	Settings() acme.Settings
	// Patience is how long an order may take.
	Patience() time.Duration
	SetSettings(by apply.Author, s acme.Settings) error
	List() []acme.View
	Get(name string) (acme.View, error)
	Order(ctx context.Context, by apply.Author, q acme.Request) (acme.View, error)
	Renew(ctx context.Context, by apply.Author, name string, force bool, at acme.Target) (acme.View, error)
	SetRenewal(by apply.Author, name string, n acme.Renewal) (acme.View, error)
	Delete(ctx context.Context, by apply.Author, name string) error
}

// acmeOperations are there when certificates can be ordered; the second name is that of
// another member of the family.
func (s *Server) acmeOperations() []*operation {
	if s.deps.ACME == nil {
		return nil
	}
	var out []*operation
	for _, all := range []string{"/certificates/letsencryptz", "/certificates/letsencrypt"} {
		one := all + "/{certificate}"
		out = append(out,
			op(get, all, rbac.CertificateShow, "List ordered certificates", s.listOrdered),
			op(post, all, rbac.CertificateCreate, "Order a certificate", s.orderCertificate).body(orderFields{}).created(),
			op(get, all+"/config", rbac.CertificateShow, "Get the settings of ACME", s.getACME),
			op(put, all+"/config", rbac.CertificateUpload, "Change the settings of ACME", s.setACME).body(acmeFields{}),
			op(get, one, rbac.CertificateShow, "Get an ordered certificate", s.getOrdered),
			op(put, one, rbac.CertificateCreate, "Change how a certificate is renewed", s.setRenewal).body(renewalFields{}),
			op(del, one, rbac.CertificateDelete, "Delete an ordered certificate", s.deleteOrdered),
			op(post, one+"/actions", rbac.CertificateCreate, "Renew an ordered certificate", s.renewOrdered).body(renewFields{}),
		)
	}
	return out
}

// acmeRejection turns an error about orders into a rejection.
func acmeRejection(err error) error {
	var known *acme.Error
	if !errors.As(err, &known) {
		return certRejection(err)
	}
	switch known.Kind {
	case acme.Missing:
		return notFound("%s", known)
	case acme.Busy:
		return refuse(http.StatusConflict, "%s", known)
	case acme.Unreachable:
		return refuse(http.StatusServiceUnavailable, "%s", known)
	}
	return badRequest("%s", known)
}

// forceTime is what may follow an order: bringing what came of it into force.
const forceTime = 60 * time.Second

// patient gives a request the time of an order; without it the connection's own
// bounds would end the order as well.
func (c *call) patient() {
	control := http.NewResponseController(humaecho.Unwrap(c.via).Response())
	until := time.Now().Add(c.s.deps.ACME.Patience() + forceTime)
	_ = control.SetReadDeadline(until) // not every connection can; it is none of a server then
	_ = control.SetWriteDeadline(until)
}

func (s *Server) listOrdered(c *call) (List[OrderedItem], error) {
	var out []OrderedItem
	for _, v := range s.deps.ACME.List() {
		out = append(out, c.orderedItem(v))
	}
	return list(c.op.summary, out), nil
}

func (s *Server) getOrdered(c *call) (Object[OrderedItem], error) {
	v, err := s.deps.ACME.Get(c.param("certificate"))
	return ordered(c, v, err, "")
}

// ordered is the answer about one certificate.
func ordered(c *call, v acme.View, err error, message string) (Object[OrderedItem], error) {
	if err != nil {
		return Object[OrderedItem]{}, acmeRejection(err)
	}
	if message != "" {
		message = fmt.Sprintf(message, v.Name)
	}
	return Object[OrderedItem]{Description: c.op.summary, Params: c.orderedItem(v), Message: message}, nil
}

func (s *Server) orderCertificate(c *call) (Object[OrderedItem], error) {
	var q acme.Request
	body, err := c.object(orderFields{})
	if err == nil {
		q.Domains, err = textList(body, "domains")
	}
	if err == nil {
		err = setTruth(body, "test", &q.Test)
	}
	if err == nil {
		q.Challenge, err = challenge(body)
	}
	if err == nil {
		q.Target, err = target(body)
	}
	if err != nil {
		return Object[OrderedItem]{}, err
	}
	if err := c.act(); err != nil {
		return Object[OrderedItem]{}, err
	}
	c.patient()
	v, err := s.deps.ACME.Order(c.ctx, c.author(), q)
	return ordered(c, v, err, "The certificate %s has been issued. Add it to a farm to use it; it is renewed by itself.")
}

func (s *Server) setRenewal(c *call) (Object[OrderedItem], error) {
	body, err := c.object(renewalFields{})
	if err != nil {
		return Object[OrderedItem]{}, err
	}
	v, err := s.deps.ACME.Get(c.param("certificate"))
	if err != nil {
		return Object[OrderedItem]{}, acmeRejection(err)
	}
	n := v.Renewal
	if n.Target, err = target(body); err != nil {
		return Object[OrderedItem]{}, err
	}
	for name, to := range map[string]*bool{"autorenewal": &n.Auto, "force_renewal": &n.Force, "restart": &n.Restart} {
		if err := setTruth(body, name, to); err != nil {
			return Object[OrderedItem]{}, err
		}
	}
	if err := c.act(); err != nil {
		return Object[OrderedItem]{}, err
	}
	v, err = s.deps.ACME.SetRenewal(c.author(), v.Name, n)
	return ordered(c, v, err, "The renewal of the certificate %s has been changed.")
}

func (s *Server) renewOrdered(c *call) (Object[OrderedItem], error) {
	body, err := c.object(renewFields{})
	if err != nil {
		return Object[OrderedItem]{}, err
	}
	if body["action"] != "renew" {
		return Object[OrderedItem]{}, badRequest("action: only renew is possible")
	}
	var force, restart bool
	if err := errors.Join(setTruth(body, "force_renewal", &force), setTruth(body, "restart", &restart)); err != nil {
		return Object[OrderedItem]{}, err
	}
	at, err := target(body)
	if err != nil {
		return Object[OrderedItem]{}, err
	}
	if err := c.act(); err != nil {
		return Object[OrderedItem]{}, err
	}
	c.patient()
	v, err := s.deps.ACME.Renew(c.ctx, c.author(), c.param("certificate"), force, at)
	return ordered(c, v, err, "The certificate %s has been renewed. The farms that use it serve the new one already.")
}

func (s *Server) deleteOrdered(c *call) (Done, error) {
	name := c.param("certificate")
	if _, err := s.deps.ACME.Get(name); err != nil {
		return Done{}, acmeRejection(err)
	}
	if err := c.act(); err != nil {
		return Done{}, err
	}
	if err := s.deps.ACME.Delete(c.ctx, c.author(), name); err != nil {
		return Done{}, acmeRejection(err)
	}
	return done(c.op.summary, fmt.Sprintf("The certificate %s has been deleted.", name)), nil
}

// renews refuses to delete, as a mere file, a certificate that is renewed: who
// deletes it where it was ordered means its renewal too.
func (s *Server) renews(name string) error {
	if v, err := s.deps.ACME.Get(name); err == nil && v.Renewal.Auto {
		return badRequest("the certificate %s is renewed automatically: switch that off first, or delete it together with its renewal (letsencryptz): `sluice acme delete %s`", v.Name, v.Name)
	}
	return nil
}

func (s *Server) getACME(c *call) (Object[ACMESettings], error) {
	return Object[ACMESettings]{Description: c.op.summary, Params: ACMESettings(s.deps.ACME.Settings())}, nil
}

func (s *Server) setACME(c *call) (Object[ACMESettings], error) {
	body, err := c.object(acmeFields{})
	if err != nil {
		return Object[ACMESettings]{}, err
	}
	v := s.deps.ACME.Settings()
	if err := readACME(body, &v); err != nil {
		return Object[ACMESettings]{}, err
	}
	if err := c.act(); err != nil {
		return Object[ACMESettings]{}, err
	}
	if err := s.deps.ACME.SetSettings(c.author(), v); err != nil {
		return Object[ACMESettings]{}, acmeRejection(err)
	}
	return Object[ACMESettings]{Description: c.op.summary, Params: ACMESettings(s.deps.ACME.Settings()), Message: "The settings of ACME have been changed."}, nil
}

// readACME changes settings; null resets one.
func readACME(body map[string]any, v *acme.Settings) error {
	for name, to := range map[string]*string{"email": &v.Email, "directory": &v.Directory, "staging": &v.Staging, "ca": &v.CA, "hook": &v.Hook} {
		raw, sent := body[name]
		text, ok := raw.(string)
		switch {
		case !sent:
		case !ok && raw != nil:
			return badRequest("%s must be a text", name)
		default:
			*to = text
		}
	}
	if raw, sent := body["dns_wait"]; sent {
		n, ok := validate.ParseNumber(raw)
		if raw != nil && (!ok || n < 1 || n > acme.MaxDNSWait) {
			return badRequest("dns_wait must be a number from 1 to %d", acme.MaxDNSWait)
		}
		v.DNSWait = int(n)
	}
	if raw, sent := body["dns_servers"]; sent {
		v.DNSServers = nil
		if raw != nil {
			list, err := textList(body, "dns_servers")
			if err != nil {
				return err
			}
			v.DNSServers = list
		}
	}
	return nil
}

// challenge reads how an authority is shown that domains are ours.
func challenge(body map[string]any) (acme.Challenge, error) {
	raw := body["challenge"]
	text, ok := raw.(string)
	if raw != nil && (!ok || !slices.Contains(acme.Challenges(), acme.Challenge(text))) {
		return "", badRequest("challenge must be one of %s, %s", acme.HTTP01, acme.DNS01)
	}
	return acme.Challenge(text), nil
}

// target reads where an authority finds its answer; empty when neither is sent.
func target(body map[string]any) (acme.Target, error) {
	var at acme.Target
	for _, name := range []string{"farmname", "vip"} {
		raw := body[name]
		text, ok := raw.(string)
		switch {
		case raw == nil || text == "" && ok:
			continue
		case !ok:
			return at, badRequest("%s must be a text", name)
		case name == "farmname":
			at.Farm = text
			continue
		}
		addr, err := netip.ParseAddr(text)
		if err != nil {
			return at, badRequest("vip: %s is no IP address", quoteName(text))
		}
		at.VIP = addr
	}
	return at, nil
}

// textList reads a list of texts.
func textList(body map[string]any, name string) ([]string, error) {
	items, ok := body[name].([]any)
	if !ok {
		return nil, badRequest("%s must be a list of texts", name)
	}
	var out []string
	for _, item := range items {
		text, ok := item.(string)
		if !ok {
			return nil, badRequest("%s must be a list of texts", name)
		}
		out = append(out, text)
	}
	return out, nil
}
