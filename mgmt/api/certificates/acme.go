package certificates

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/sluicelb/sluice/mgmt/acme"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/certs"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

// ACME orders certificates and renews them; *acme.Manager implements it.
type ACME interface {
	Settings() acme.Settings
	// Patience returns the maximum duration of an order.
	Patience() time.Duration
	SetSettings(by apply.Author, s acme.Settings) error
	// CheckSettings, CheckOrder and CheckRenewal validate dry runs.
	CheckSettings(s acme.Settings) error
	CheckOrder(q acme.Request) error
	CheckRenewal(name string, at acme.Target) error
	List() []acme.View
	Get(name string) (acme.View, error)
	Order(ctx context.Context, by apply.Author, q acme.Request) (acme.View, error)
	Renew(ctx context.Context, by apply.Author, name string, force bool, at acme.Target) (acme.View, error)
	SetRenewal(by apply.Author, name string, n acme.Renewal) (acme.View, error)
	Delete(ctx context.Context, by apply.Author, name string) error
}

// acmeOperations returns the operations of orders under both path names that Zevenet and
// SKUDONET use. Without ACME it returns an empty list.
func (s *Resource) acmeOperations() []*rest.Operation {
	if s.deps.ACME == nil {
		return nil
	}
	var out []*rest.Operation
	for _, all := range []string{"/certificates/letsencryptz", "/certificates/letsencrypt"} {
		one := all + "/{certificate}"
		out = append(out,
			rest.Op(rest.Get, all, rbac.CertificateShow, "List ordered certificates", s.listOrdered),
			rest.Op(rest.Post, all, rbac.CertificateCreate, "Order a certificate", s.orderCertificate).Body(orderFields{}).Created(),
			rest.Op(rest.Get, all+"/config", rbac.CertificateShow, "Get the settings of ACME", s.getACME).Of(s.acme),
			rest.Op(rest.Put, all+"/config", rbac.CertificateUpload, "Change the settings of ACME", s.setACME).Body(acmeFields{}).Of(s.acme).OfAll(),
			rest.Op(rest.Get, one, rbac.CertificateShow, "Get an ordered certificate", s.getOrdered),
			rest.Op(rest.Put, one, rbac.CertificateCreate, "Change the renewal settings of a certificate", s.setRenewal).Body(renewalFields{}),
			rest.Op(rest.Delete, one, rbac.CertificateDelete, "Delete an ordered certificate", s.deleteOrdered),
			rest.Op(rest.Post, one+"/actions", rbac.CertificateCreate, "Renew an ordered certificate", s.renewOrdered).Body(renewFields{}),
		)
	}
	return out
}

// acmeRejection converts an error about orders into a rejection.
func acmeRejection(err error) error {
	var known *acme.Error
	if !errors.As(err, &known) {
		return Rejection(err)
	}
	switch known.Kind {
	case acme.Missing:
		return rest.NotFound("%s", known)
	case acme.Busy:
		return rest.Refuse(http.StatusConflict, "%s", known)
	case acme.Unreachable:
		return rest.Refuse(http.StatusServiceUnavailable, "%s", known)
	}
	return rest.BadRequest("%s", known)
}

// forceTime is the time for activating an ordered certificate, in addition to the order
// itself.
const forceTime = 60 * time.Second

func (s *Resource) listOrdered(c *rest.Call) (rest.List[OrderedItem], error) {
	var out []OrderedItem
	for _, v := range s.deps.ACME.List() {
		out = append(out, orderedItem(c, v))
	}
	return rest.NewList(c.Summary(), out), nil
}

func (s *Resource) getOrdered(c *rest.Call) (rest.Object[OrderedItem], error) {
	v, err := s.deps.ACME.Get(c.Param("certificate"))
	return ordered(c, v, err, "")
}

// ordered builds the response about one certificate.
func ordered(c *rest.Call, v acme.View, err error, message string) (rest.Object[OrderedItem], error) {
	if err != nil {
		return rest.Object[OrderedItem]{}, acmeRejection(err)
	}
	if message != "" {
		message = fmt.Sprintf(message, v.Name)
	}
	return rest.Object[OrderedItem]{Description: c.Summary(), Params: orderedItem(c, v), Message: message}, nil
}

func (s *Resource) orderCertificate(c *rest.Call) (rest.Object[OrderedItem], error) {
	var q acme.Request
	body, err := c.Object(orderFields{})
	if err == nil {
		q.Domains, err = rest.TextList(body, "domains")
	}
	if err == nil {
		err = rest.SetTruth(body, "test", &q.Test)
	}
	if err == nil {
		q.Challenge, err = challenge(body)
	}
	if err == nil {
		q.Target, err = target(c, body)
	}
	if err != nil {
		return rest.Object[OrderedItem]{}, err
	}
	if err := s.deps.ACME.CheckOrder(q); err != nil {
		return rest.Object[OrderedItem]{}, acmeRejection(err)
	}
	if err := c.Act(); err != nil {
		return rest.Object[OrderedItem]{}, err
	}
	c.MayTake(s.deps.ACME.Patience() + forceTime)
	v, err := s.deps.ACME.Order(c.Context, c.Author(), q)
	return ordered(c, v, err, "The certificate %s has been issued. Add it to a farm to use it; it is renewed by itself.")
}

func (s *Resource) setRenewal(c *rest.Call) (rest.Object[OrderedItem], error) {
	body, err := c.Object(renewalFields{})
	if err != nil {
		return rest.Object[OrderedItem]{}, err
	}
	v, err := s.deps.ACME.Get(c.Param("certificate"))
	if err != nil {
		return rest.Object[OrderedItem]{}, acmeRejection(err)
	}
	if err := mayReplace(c, certs.CertificateUsers, v.Name); err != nil {
		return rest.Object[OrderedItem]{}, err
	}
	n := v.Renewal
	if n.Target, err = target(c, body); err != nil {
		return rest.Object[OrderedItem]{}, err
	}
	for name, to := range map[string]*bool{"autorenewal": &n.Auto, "force_renewal": &n.Force, "restart": &n.Restart} {
		if err := rest.SetTruth(body, name, to); err != nil {
			return rest.Object[OrderedItem]{}, err
		}
	}
	if err := s.deps.ACME.CheckRenewal(v.Name, n.Target); err != nil {
		return rest.Object[OrderedItem]{}, acmeRejection(err)
	}
	if err := c.Act(); err != nil {
		return rest.Object[OrderedItem]{}, err
	}
	v, err = s.deps.ACME.SetRenewal(c.Author(), v.Name, n)
	return ordered(c, v, err, "The renewal of the certificate %s has been changed.")
}

func (s *Resource) renewOrdered(c *rest.Call) (rest.Object[OrderedItem], error) {
	body, err := c.Object(renewFields{})
	if err != nil {
		return rest.Object[OrderedItem]{}, err
	}
	if body["action"] != "renew" {
		return rest.Object[OrderedItem]{}, rest.BadRequest("action: only renew is possible")
	}
	var force, restart bool
	if err := errors.Join(rest.SetTruth(body, "force_renewal", &force), rest.SetTruth(body, "restart", &restart)); err != nil {
		return rest.Object[OrderedItem]{}, err
	}
	at, err := target(c, body)
	if err == nil {
		err = mayReplace(c, certs.CertificateUsers, c.Param("certificate"))
	}
	if err != nil {
		return rest.Object[OrderedItem]{}, err
	}
	if err := s.deps.ACME.CheckRenewal(c.Param("certificate"), at); err != nil {
		return rest.Object[OrderedItem]{}, acmeRejection(err)
	}
	if err := c.Act(); err != nil {
		return rest.Object[OrderedItem]{}, err
	}
	c.MayTake(s.deps.ACME.Patience() + forceTime)
	v, err := s.deps.ACME.Renew(c.Context, c.Author(), c.Param("certificate"), force, at)
	return ordered(c, v, err, "The certificate %s has been renewed. The farms that use it serve the new one already.")
}

func (s *Resource) deleteOrdered(c *rest.Call) (rest.Done, error) {
	name := c.Param("certificate")
	if _, err := s.deps.ACME.Get(name); err != nil {
		return rest.Done{}, acmeRejection(err)
	}
	if err := mayReplace(c, certs.CertificateUsers, name); err != nil {
		return rest.Done{}, err
	}
	if err := c.Act(); err != nil {
		return rest.Done{}, err
	}
	if err := s.deps.ACME.Delete(c.Context, c.Author(), name); err != nil {
		return rest.Done{}, acmeRejection(err)
	}
	return rest.NewDone(c.Summary(), fmt.Sprintf("The certificate %s has been deleted.", name)), nil
}

// renews refuses to delete a certificate as a mere file while it is renewed automatically.
// Deleting the order deletes the renewal too.
func (s *Resource) renews(name string) error {
	if v, err := s.deps.ACME.Get(name); err == nil && v.Renewal.Auto {
		return rest.BadRequest("the certificate %s is renewed automatically: switch that off first, or delete it together with its renewal (letsencryptz): `sluice acme delete %s`", v.Name, v.Name)
	}
	return nil
}

func (s *Resource) getACME(c *rest.Call) (rest.Object[ACMESettings], error) {
	return rest.Object[ACMESettings]{Description: c.Summary(), Params: ACMESettings(s.deps.ACME.Settings())}, nil
}

func (s *Resource) setACME(c *rest.Call) (rest.Object[ACMESettings], error) {
	body, err := c.Object(acmeFields{})
	if err != nil {
		return rest.Object[ACMESettings]{}, err
	}
	v := s.deps.ACME.Settings()
	if err := readACME(body, &v); err != nil {
		return rest.Object[ACMESettings]{}, err
	}
	if err := s.deps.ACME.CheckSettings(v); err != nil {
		return rest.Object[ACMESettings]{}, acmeRejection(err)
	}
	if v.Hook != "" && v.Hook != s.deps.ACME.Settings().Hook {
		if err := c.SetProgram("the hook starts the program " + rest.Quote(v.Hook)); err != nil {
			return rest.Object[ACMESettings]{}, err
		}
	}
	if err := c.Act(); err != nil {
		return rest.Object[ACMESettings]{}, err
	}
	if err := s.deps.ACME.SetSettings(c.Author(), v); err != nil {
		return rest.Object[ACMESettings]{}, acmeRejection(err)
	}
	return rest.Object[ACMESettings]{Description: c.Summary(), Params: ACMESettings(s.deps.ACME.Settings()), Message: "The settings of ACME have been changed."}, nil
}

// readACME applies the sent settings to v; null resets a setting.
func readACME(body map[string]any, v *acme.Settings) error {
	for name, to := range map[string]*string{"email": &v.Email, "directory": &v.Directory, "staging": &v.Staging, "ca": &v.CA, "hook": &v.Hook} {
		raw, sent := body[name]
		text, ok := raw.(string)
		switch {
		case !sent:
		case !ok && raw != nil:
			return rest.BadRequest("%s must be a text", name)
		default:
			*to = text
		}
	}
	if raw, sent := body["dns_wait"]; sent {
		n, ok := field.ParseNumber(raw)
		if raw != nil && (!ok || n < 1 || n > acme.MaxDNSWait) {
			return rest.BadRequest("dns_wait must be a number from 1 to %d", acme.MaxDNSWait)
		}
		v.DNSWait = int(n)
	}
	if raw, sent := body["dns_servers"]; sent {
		v.DNSServers = nil
		if raw != nil {
			list, err := rest.TextList(body, "dns_servers")
			if err != nil {
				return err
			}
			v.DNSServers = list
		}
	}
	return nil
}

// challenge reads the challenge type by which the authority validates domains.
func challenge(body map[string]any) (acme.Challenge, error) {
	raw := body["challenge"]
	text, ok := raw.(string)
	if raw != nil && (!ok || !slices.Contains(acme.Challenges(), acme.Challenge(text))) {
		return "", rest.BadRequest("challenge must be one of %s, %s", acme.HTTP01, acme.DNS01)
	}
	return acme.Challenge(text), nil
}

// target reads the farm or VIP that responds to the authority; it is empty if neither is
// sent.
func target(c *rest.Call, body map[string]any) (acme.Target, error) {
	var at acme.Target
	for _, name := range []string{"farmname", "vip"} {
		raw := body[name]
		text, ok := raw.(string)
		switch {
		case raw == nil || text == "" && ok:
			continue
		case !ok:
			return at, rest.BadRequest("%s must be a text", name)
		case name == "farmname":
			// Report a farm of another group as missing before any other check.
			if _, err := c.Visible(text); err != nil {
				return at, err
			}
			at.Farm = text
			continue
		}
		addr, err := netip.ParseAddr(text)
		if err != nil {
			return at, rest.BadRequest("vip: %s is no IP address", rest.Quote(text))
		}
		at.VIP = addr
	}
	return at, mayAnswerAt(c, at.VIP)
}

// mayAnswerAt refuses the address of a farm that the caller does not see. Otherwise the
// authority would issue certificates for that farm's names.
func mayAnswerAt(c *rest.Call, vip netip.Addr) error {
	if c.By.Who.Root() || !vip.IsValid() {
		return nil
	}
	for i := range c.Config.Farms {
		f := &c.Config.Farms[i]
		if _, err := c.Visible(f.Name); err != nil && (f.VIP == vip.Unmap() || f.VIP.IsUnspecified()) {
			return rest.Refuse(http.StatusForbidden, "vip: farms use this address that your group does not see")
		}
	}
	return nil
}
