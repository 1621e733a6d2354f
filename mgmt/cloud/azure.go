package cloud

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
)

// askAzure requests a token of a service principal (RFC 6749, 4.4). The token is not used.
func (m *Manager) askAzure(ctx context.Context, c *Credentials) (Account, error) {
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {c.ID}, "client_secret": {c.Secret}, "scope": {"https://management.azure.com/.default"}}
	at := m.options.Azure + "/" + url.PathEscape(c.Place) + "/oauth2/v2.0/token"
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, at, strings.NewReader(form.Encode()))
	if err != nil {
		return Account{}, err
	}
	r.Header.Set("Content-Type", formType)
	status, answer, err := m.ask(r)
	if err != nil {
		return Account{}, err
	}
	var said struct {
		Token string `json:"access_token"`
		Code  string `json:"error"`
	}
	err = json.Unmarshal(answer, &said)
	switch {
	case status != http.StatusOK:
		return Account{}, refused(status, said.Code)
	case err != nil || said.Token == "":
		return Account{}, &Error{"the answer of Azure holds no token"}
	}
	return Account{ID: c.Place, Name: c.ID}, nil
}
