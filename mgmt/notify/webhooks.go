package notify

import (
	"slices"
	"strings"

	"github.com/sluicelb/sluice/mgmt/event"
	"github.com/sluicelb/sluice/mgmt/notify/webhook"
)

// Webhook is a receiver of messages over HTTP.
type Webhook struct {
	Name string `json:"name"`
	URL  string `json:"url"`
	// CA names the authority list that verifies the receiver; "" means the system's roots.
	CA string `json:"ca,omitempty"`
	Choice
	// Off disables the webhook.
	Off bool `json:"off,omitempty"`
	// Sealed is the sealed secret, which only this package decrypts.
	Sealed []byte `json:"secret,omitempty"`
	// Secret is a new secret to be sealed; nil: unchanged.
	Secret *string `json:"-"`
}

// Limits of webhooks. A shorter secret could be guessed from a message.
const (
	MaxWebhooks    = 8
	maxWebhookName = 32
	MinSecret      = 16
	maxSecret      = 255
)

func (w *Webhook) clone() Webhook {
	out := *w
	out.Choice, out.Sealed = w.Choice.clone(), slices.Clone(w.Sealed)
	return out
}

func (w *Webhook) check() error {
	if w.Name == "" || len(w.Name) > maxWebhookName || strings.ContainsFunc(w.Name, func(r rune) bool { return r != '-' && !('a' <= r && r <= 'z' || '0' <= r && r <= '9') }) {
		return invalid("name: a to z, digits and - are allowed, %d at most, got %s", maxWebhookName, show(w.Name))
	}
	if err := webhook.CheckURL(w.URL); err != nil {
		return invalid("url: %s", err)
	}
	secret := deref(w.Secret)
	switch {
	case w.Secret == nil && len(w.Sealed) == 0:
		return invalid("secret is required: the receiver tells by it that a message is from here")
	case w.Secret != nil && (len(secret) < MinSecret || len(secret) > maxSecret || strings.ContainsFunc(secret, func(r rune) bool { return r < ' ' || r > '~' })):
		return invalid("secret: %d to %d printable ASCII characters are needed", MinSecret, maxSecret)
	}
	return w.Choice.check()
}

// hears reports whether an event is for this webhook.
func (w *Webhook) hears(kind event.Kind, severity event.Severity) bool {
	return !w.Off && w.Choice.hears(kind, severity)
}

// webhook returns the webhook of that name, nil if there is none.
func (s *Settings) webhook(name string) *Webhook {
	if i := slices.IndexFunc(s.Webhooks, func(w Webhook) bool { return w.Name == name }); i >= 0 {
		return &s.Webhooks[i]
	}
	return nil
}

func (s *Settings) checkWebhooks() error {
	if len(s.Webhooks) > MaxWebhooks {
		return invalid("webhooks: at most %d are possible", MaxWebhooks)
	}
	for i := range s.Webhooks {
		if err := s.Webhooks[i].check(); err != nil {
			return err
		}
	}
	return nil
}
