// Package notifications implements the API resources of notifications to operators: by
// mail, webhook, syslog and script.
package notifications

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/notify"
	"github.com/sluicelb/sluice/mgmt/rbac"
)

// Notifier sends alerts; *notify.Manager implements it.
type Notifier interface {
	Settings() notify.Settings
	Change(by apply.Author, what string, edit func(*notify.Settings) error, act func() error) error
	Test(ctx context.Context) (said string, err error)
	Alerts() []notify.Alert
	Alert(name string) (notify.Alert, error)
	Enable(by apply.Author, name string, on bool, act func() error) error
	Problem() string
	Delivery() notify.Delivery

	Webhooks() []notify.HookView
	Webhook(name string) (notify.HookView, error)
	AddWebhook(by apply.Author, w notify.Webhook, act func() error) error
	ChangeWebhook(by apply.Author, name string, edit func(*notify.Webhook) error, act func() error) error
	RemoveWebhook(by apply.Author, name string, act func() error) error
	TestWebhook(ctx context.Context, name string) (status string, err error)
}

// Deps are the dependencies of the operations. Without Notifier there are none.
type Deps struct{ Notifier Notifier }

// Resource implements the operations. Use New to make one.
type Resource struct {
	deps Deps
	// document covers all settings of notifications. A test does not change it.
	document *rest.Document
}

// New returns the resource over deps.
func New(deps Deps) *Resource {
	return &Resource{deps, rest.NewDocument("the settings of notifications", func() string { return rest.Digest(deps.Notifier.Settings()) })}
}

const (
	base  = "/system/notifications"
	email = base + "/methods/email"
	list  = base + "/alerts"
)

// Operations returns the operations of the resource. Settings are changed by POST, as in
// Zevenet, or by PUT.
func (s *Resource) Operations() []*rest.Operation {
	if s.deps.Notifier == nil {
		return nil
	}
	tests := []*rest.Operation{
		rest.Op(rest.Post, email+"/actions", rbac.NotificationTest, "Send a test email", s.test).Body(testFields{}),
		rest.Op(rest.Post, webhook+"/actions", rbac.NotificationTest, "Send a test message to a webhook", s.testWebhook).Body(testFields{}),
	}
	out := []*rest.Operation{
		rest.Op(rest.Get, base, rbac.NotificationShow, "List the notification settings", s.listAlerts),
		rest.Op(rest.Get, email, rbac.NotificationShow, "Get the mail server of notifications", s.getEmail),
		rest.Op(rest.Get, kinds, rbac.NotificationShow, "List the kinds of events", s.listKinds),
		rest.Op(rest.Get, list, rbac.NotificationShow, "List the notification settings", s.listAlerts),
		rest.Op(rest.Get, list+"/backends", rbac.NotificationShow, "Get the notification settings for backends", s.getBackends),
		rest.Op(rest.Get, list+"/cluster", rbac.NotificationShow, "Get the notification settings for the cluster", s.getCluster),
		rest.Op(rest.Get, list+"/interfaces", rbac.NotificationShow, "Get the notification settings for interfaces", s.getInterfaces),
		rest.Op(rest.Post, list+"/{alert}/actions", rbac.NotificationAction, "Enable or disable an alert", s.act).Body(actionFields{}),
	}
	for _, w := range ways {
		out = append(out, rest.Op(rest.Get, w.path, rbac.NotificationShow, "Get which events "+w.what, s.getWay(w)),
			rest.Op(rest.Put, w.path, rbac.NotificationModify, "Change which events "+w.what, s.setWay(w)).Body(wayFields{}))
	}
	for _, method := range []string{rest.Post, rest.Put} {
		out = append(out,
			rest.Op(method, email, rbac.NotificationModify, "Change the mail server of notifications", s.setEmail).Body(emailFields{}).Outlives(),
			rest.Op(method, list+"/backends", rbac.NotificationModify, "Change the notification settings for backends", s.setBackends).Body(backendFields{}),
			rest.Op(method, list+"/cluster", rbac.NotificationModify, "Change the notification settings for the cluster", s.setCluster).Body(clusterFields{}),
			rest.Op(method, list+"/interfaces", rbac.NotificationModify, "Change the notification settings for interfaces", s.setInterfaces).Body(interfaceFields{}),
		)
	}
	return append(rest.About(s.document, append(out, s.webhookOperations()...)...), tests...)
}

// rejection converts an error into a rejection.
func rejection(err error) error {
	known, ok := errors.AsType[*notify.Error](err)
	if !ok {
		return rest.RejectionOf(err, false)
	}
	switch known.Kind {
	case notify.Missing:
		return rest.NotFound("%s", known)
	case notify.Unreachable:
		return rest.Refuse(http.StatusServiceUnavailable, "%s", known)
	}
	return rest.BadRequest("%s", known)
}

// change edits the settings, except in a dry run.
func (s *Resource) change(c *rest.Call, what string, edit func(*notify.Settings) error) error {
	if err := s.deps.Notifier.Change(c.Author(), what, edit, c.Act); err != nil {
		return rejection(err)
	}
	return nil
}

// testTime bounds the delivery of a test mail while the client waits.
const testTime = 30 * time.Second

func (s *Resource) test(c *rest.Call) (rest.Object[TestView], error) {
	none := rest.Object[TestView]{}
	if err := s.askedToTest(c, func() error { return nil }); err != nil {
		return none, err
	}
	said, err := s.deps.Notifier.Test(c.Context)
	if err != nil {
		return none, rejection(err)
	}
	return rest.Object[TestView]{Description: c.Summary(), Params: TestView{"test", said}, Message: "The mail server has taken the mail."}, nil
}

func (s *Resource) act(c *rest.Call) (rest.Object[AlertView], error) {
	none := rest.Object[AlertView]{}
	name := c.Param("alert")
	if _, err := s.deps.Notifier.Alert(name); err != nil {
		return none, rejection(err)
	}
	body, err := c.Texts(actionFields{})
	if err != nil {
		return none, err
	}
	if a := body["action"]; a != "enable" && a != "disable" {
		return none, rest.BadRequest("action must be one of enable and disable, got %s", rest.Quote(a))
	}
	on := body["action"] == "enable"
	if err := s.deps.Notifier.Enable(c.Author(), name, on, c.Act); err != nil {
		return none, rejection(err)
	}
	a, err := s.deps.Notifier.Alert(name)
	return rest.Object[AlertView]{Description: c.Summary(), Params: alertView(a), Message: "The alert " + name + " is " + alertView(a).Status + ".", Warning: s.deps.Notifier.Problem()}, err
}
