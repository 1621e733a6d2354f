package notifications

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/notify"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

const (
	webhooks = base + "/methods/webhooks"
	webhook  = webhooks + "/{webhook}"
)

func (s *Resource) webhookOperations() []*rest.Operation {
	return []*rest.Operation{
		rest.Op(rest.Get, webhooks, rbac.NotificationShow, "List webhooks", s.listWebhooks),
		rest.Op(rest.Post, webhooks, rbac.NotificationModify, "Create a webhook", s.createWebhook).Body(newWebhookFields{}).Created().Outlives(),
		rest.Op(rest.Get, webhook, rbac.NotificationShow, "Get a webhook", s.getWebhook),
		rest.Op(rest.Put, webhook, rbac.NotificationModify, "Change a webhook", s.setWebhook).Body(webhookFields{}).Outlives(),
		rest.Op(rest.Delete, webhook, rbac.NotificationModify, "Delete a webhook", s.deleteWebhook),
	}
}

// WebhookView describes a webhook and the delivery of its messages.
type WebhookView struct {
	Name     string   `json:"name"`
	URL      string   `json:"url" doc:"URL that receives messages; only the host for users who cannot change it"`
	Secret   string   `json:"secret" doc:"Always ***; it is never shown"`
	CA       string   `json:"ca"`
	Kinds    []string `json:"kinds" doc:"Events to report; none means all"`
	Severity string   `json:"severity" enum:"info,warning,error" doc:"Minimum severity to report"`
	Enabled  string   `json:"enabled" enum:"true,false"`
	Sent     int      `json:"sent" doc:"Messages accepted since startup"`
	Waiting  int      `json:"waiting"`
	Lost     int      `json:"lost" doc:"Messages discarded since startup"`
	Problem  string   `json:"problem" doc:"Delivery error; empty if messages arrive"`
}

// shownURL returns the URL as the caller may see it. The part after the host may contain a
// token, which only callers who may change it see.
func shownURL(c *rest.Call, text string) string {
	if c.MayOfAll(rbac.NotificationModify) {
		return text
	}
	return maskedURL(text)
}

// maskedURL hides the path and query of a URL, which may contain a token.
func maskedURL(text string) string {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return hidden
	case strings.Trim(u.Path, "/") == "" && u.RawQuery == "":
		return text
	}
	return u.Scheme + "://" + u.Host + "/" + hidden
}

func webhookView(c *rest.Call, v notify.HookView) WebhookView {
	return WebhookView{Name: v.Name, URL: shownURL(c, v.URL), Secret: hidden, CA: v.CA, Kinds: kindNames(v.Kinds), Severity: severityName(v.Choice), Enabled: rest.Truth(!v.Off),
		Sent: v.Sent, Waiting: v.Waiting, Lost: v.Lost, Problem: v.Problem}
}

type (
	webhookFields    struct{}
	newWebhookFields struct{}
)

// Params are the fields of the body.
func (webhookFields) Params() []field.Param {
	return append([]field.Param{
		rest.Optional("url", "URL that receives messages by POST: https:// or http://."),
		rest.Optional("secret", fmt.Sprintf("Key for signing messages, at least %d printable characters; stored encrypted and never shown.", notify.MinSecret)),
		rest.Optional("ca", "CA list for verifying the receiver; empty uses the system's."),
		{Name: "enabled", PossibleValues: []string{"true", "false"}, Options: []string{"non_blank"}, Description: "Enable sending of messages."},
	}, choiceParams("none means all")...)
}

// Params are the fields of the body.
func (newWebhookFields) Params() []field.Param {
	out := append([]field.Param{rest.Needed("name", "Name: a to z, digits and -.")}, webhookFields{}.Params()...)
	for i := range out {
		if n := out[i].Name; n == "url" || n == "secret" {
			out[i].Options = []string{"non_blank", "required"}
		}
	}
	return out
}

// readWebhook applies the sent settings and leaves the others unchanged.
func readWebhook(body map[string]any, w *notify.Webhook) error {
	if raw, is := body["url"].(string); is && raw == maskedURL(w.URL) {
		delete(body, "url") // sent back as shown: unchanged
	}
	for name, to := range map[string]*string{"url": &w.URL, "ca": &w.CA} {
		if err := setText(body, name, to); err != nil {
			return err
		}
	}
	if raw, sent := body["secret"]; sent && raw != hidden { // sent back as shown: unchanged
		w.Secret = new(string)
		if err := setText(body, "secret", w.Secret); err != nil {
			return err
		}
	}
	on := !w.Off
	if err := rest.SetTruth(body, "enabled", &on); err != nil {
		return err
	}
	w.Off = !on
	return readChoice(body, &w.Choice)
}

func (s *Resource) listWebhooks(c *rest.Call) (rest.List[WebhookView], error) {
	var out []WebhookView
	for _, v := range s.deps.Notifier.Webhooks() {
		out = append(out, webhookView(c, v))
	}
	return rest.NewList(c.Summary(), out), nil
}

// shown builds the response for a webhook.
func (s *Resource) shown(c *rest.Call, name, message string) (rest.Object[WebhookView], error) {
	v, err := s.deps.Notifier.Webhook(name)
	if err != nil {
		return rest.Object[WebhookView]{}, rejection(err)
	}
	warning := ""
	if strings.HasPrefix(v.URL, "http://") {
		warning = "messages go there in clear text, and nobody vouches for the receiver: prefer https"
	}
	return rest.Object[WebhookView]{Description: c.Summary(), Params: webhookView(c, v), Message: message, Warning: warning}, nil
}

func (s *Resource) getWebhook(c *rest.Call) (rest.Object[WebhookView], error) {
	return s.shown(c, c.Param("webhook"), "")
}

func (s *Resource) createWebhook(c *rest.Call) (rest.Object[WebhookView], error) {
	none := rest.Object[WebhookView]{}
	body, err := c.Object(newWebhookFields{})
	if err != nil {
		return none, err
	}
	w := notify.Webhook{}
	if err := setText(body, "name", &w.Name); err != nil {
		return none, err
	}
	if err := readWebhook(body, &w); err != nil {
		return none, err
	}
	if err := s.deps.Notifier.AddWebhook(c.Author(), w, c.Act); err != nil {
		return none, rejection(err)
	}
	return s.shown(c, w.Name, "The webhook "+w.Name+" has been created.")
}

func (s *Resource) setWebhook(c *rest.Call) (rest.Object[WebhookView], error) {
	none := rest.Object[WebhookView]{}
	name := c.Param("webhook")
	body, err := c.Object(webhookFields{})
	if err != nil {
		return none, err
	}
	err = s.deps.Notifier.ChangeWebhook(c.Author(), name, func(w *notify.Webhook) error { return readWebhook(body, w) }, c.Act)
	if err != nil {
		return none, rejection(err)
	}
	return s.shown(c, name, "The webhook "+name+" has been changed.")
}

func (s *Resource) deleteWebhook(c *rest.Call) (rest.Done, error) {
	name := c.Param("webhook")
	if err := s.deps.Notifier.RemoveWebhook(c.Author(), name, c.Act); err != nil {
		return rest.Done{}, rejection(err)
	}
	return rest.NewDone(c.Summary(), "The webhook "+name+" has been deleted."), nil
}

func (s *Resource) testWebhook(c *rest.Call) (rest.Object[TestView], error) {
	none := rest.Object[TestView]{}
	name := c.Param("webhook")
	exists := func() error { _, err := s.deps.Notifier.Webhook(name); return err }
	if err := s.askedToTest(c, exists); err != nil {
		return none, err
	}
	said, err := s.deps.Notifier.TestWebhook(c.Context, name)
	if err != nil {
		return none, rejection(err)
	}
	return rest.Object[TestView]{Description: c.Summary(), Params: TestView{"test", said}, Message: "The webhook " + name + " has taken the message."}, nil
}

// askedToTest reads the only action, test, and ends a dry run.
func (s *Resource) askedToTest(c *rest.Call, possible func() error) error {
	body, err := c.Texts(testFields{})
	if err != nil {
		return err
	}
	if body["action"] != "test" {
		return rest.BadRequest("action must be test, got %s", rest.Quote(body["action"]))
	}
	if err := possible(); err != nil {
		return rejection(err)
	}
	if err := c.Act(); err != nil {
		return err
	}
	c.MayTake(testTime)
	return nil
}
