package notifications

import (
	"fmt"
	"strings"

	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/notify"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

func (s *Resource) listAlerts(c *rest.Call) (rest.List[AlertView], error) {
	var out []AlertView
	for _, a := range s.deps.Notifier.Alerts() {
		out = append(out, alertView(a))
	}
	return rest.NewList(c.Summary(), out), nil
}

func (s *Resource) getEmail(c *rest.Call) (rest.Object[EmailView], error) {
	return rest.Object[EmailView]{Description: c.Summary(), Params: emailView(s.deps.Notifier), Warning: s.deps.Notifier.Problem()}, nil
}

func (s *Resource) setEmail(c *rest.Call) (rest.Object[EmailView], error) {
	none := rest.Object[EmailView]{}
	body, err := c.Object(emailFields{})
	if err != nil {
		return none, err
	}
	err = s.change(c, "email", func(n *notify.Settings) error { return readEmail(body, &n.Email) })
	if err != nil {
		return none, err
	}
	out, err := s.getEmail(c)
	out.Message = "The settings have been changed."
	return out, err
}

// readEmail applies the sent settings and leaves the others unchanged.
func readEmail(body map[string]any, e *notify.Email) error {
	for name, to := range map[string]*string{"server": &e.Server, "user": &e.User, "from": &e.From, "ca": &e.CA} {
		if err := setText(body, name, to); err != nil {
			return err
		}
	}
	if raw, sent := body["password"]; sent && raw != hidden { // sent back as shown: unchanged
		e.Password = new(string)
		if err := setText(body, "password", e.Password); err != nil {
			return err
		}
	}
	if err := setList(body, "to", &e.To); err != nil {
		return err
	}
	if err := readChoice(body, &e.Choice); err != nil {
		return err
	}
	return rest.SetTruth(body, "tls", &e.TLS)
}

// setText sets a string if the body has it; null means "".
func setText(body map[string]any, name string, to *string) error {
	raw, sent := body[name]
	if !sent {
		return nil
	}
	text, ok := raw.(string)
	if !ok && raw != nil {
		return rest.BadRequest("%s must be a text", name)
	}
	*to = text
	return nil
}

// setList sets a list if the body has it: a list, or a string with items separated by
// commas or blanks. null and "" mean an empty list.
func setList(body map[string]any, name string, to *[]string) error {
	var items []string
	switch raw := body[name].(type) {
	case nil:
		if _, sent := body[name]; sent {
			*to = nil
		}
		return nil
	case string:
		items = []string{raw}
	default:
		var err error
		if items, err = rest.TextList(body, name); err != nil {
			return err
		}
	}
	*to = nil
	for _, item := range items {
		*to = append(*to, strings.FieldsFunc(item, func(r rune) bool { return r == ',' || r == ' ' })...)
	}
	return nil
}

func (s *Resource) getBackends(c *rest.Call) (rest.Object[BackendsView], error) {
	b := s.deps.Notifier.Settings().Backends
	return rest.Object[BackendsView]{Description: c.Summary(), Params: BackendsView{b.Prefix, b.Seconds()}}, nil
}

func (s *Resource) setBackends(c *rest.Call) (rest.Object[BackendsView], error) {
	none := rest.Object[BackendsView]{}
	body, err := c.Object(backendFields{})
	if err != nil {
		return none, err
	}
	err = s.change(c, notify.Backends, func(n *notify.Settings) error {
		if raw, sent := body["avoidflappingtime"]; sent {
			n.Backends.AvoidFlapping = nil
			if raw != nil {
				seconds, ok := field.ParseNumber(raw)
				if !ok || seconds < 0 || seconds > notify.MaxAvoidFlapping {
					return rest.BadRequest("avoidflappingtime must be a number of seconds from 0 to %d, got %s", notify.MaxAvoidFlapping, rest.Quote(fmt.Sprint(raw)))
				}
				n.Backends.AvoidFlapping = new(int)
				*n.Backends.AvoidFlapping = int(seconds)
			}
		}
		return setText(body, "prefix", &n.Backends.Prefix)
	})
	if err != nil {
		return none, err
	}
	out, err := s.getBackends(c)
	out.Message = "The settings have been changed."
	return out, err
}

func (s *Resource) getCluster(c *rest.Call) (rest.Object[ClusterView], error) {
	return rest.Object[ClusterView]{Description: c.Summary(), Params: ClusterView{s.deps.Notifier.Settings().ClusterPrefix}}, nil
}

func (s *Resource) setCluster(c *rest.Call) (rest.Object[ClusterView], error) {
	body, err := c.Object(clusterFields{})
	if err == nil {
		err = s.change(c, notify.Cluster, func(n *notify.Settings) error { return setText(body, "prefix", &n.ClusterPrefix) })
	}
	if err != nil {
		return rest.Object[ClusterView]{}, err
	}
	out, err := s.getCluster(c)
	out.Message = "The settings have been changed."
	return out, err
}

func (s *Resource) getInterfaces(c *rest.Call) (rest.Object[InterfacesView], error) {
	list := s.deps.Notifier.Settings().Interfaces
	if list == nil {
		list = []string{}
	}
	return rest.Object[InterfacesView]{Description: c.Summary(), Params: InterfacesView{list}}, nil
}

func (s *Resource) setInterfaces(c *rest.Call) (rest.Object[InterfacesView], error) {
	body, err := c.Object(interfaceFields{})
	if err == nil {
		err = s.change(c, notify.Interfaces, func(n *notify.Settings) error { return setList(body, "interfaces", &n.Interfaces) })
	}
	if err != nil {
		return rest.Object[InterfacesView]{}, err
	}
	out, err := s.getInterfaces(c)
	out.Message = "The settings have been changed."
	return out, err
}

func emailView(n Notifier) EmailView {
	e, d := n.Settings().Email, n.Delivery()
	password := ""
	if e.HasPassword() {
		password = hidden
	}
	to := e.To
	if to == nil {
		to = []string{}
	}
	return EmailView{Server: e.Server, User: e.User, Password: password, From: e.From, To: strings.Join(to, ","), Recipients: to, TLS: rest.Truth(e.TLS), CA: e.CA,
		Kinds: kindNames(e.Kinds), Severity: severityName(e.Choice),
		Sent: d.Sent, Waiting: d.Waiting, Lost: d.Lost}
}
