package rest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/api/rest"
)

func TestOnlyOurOwnFaultsAreLogged(t *testing.T) {
	left, leave := context.WithCancel(t.Context())
	leave()
	for name, c := range map[string]struct {
		ctx    context.Context
		status int
		cause  error
		logged bool
	}{
		"a fault":                     {t.Context(), 500, errors.New("broken"), true},
		"the client's":                {t.Context(), 400, errors.New("broken"), false},
		"a client that left":          {left, 500, fmt.Errorf("read: %w", context.Canceled), false},
		"a fault, and it left":        {left, 500, errors.New("broken"), true},
		"something else was canceled": {t.Context(), 500, context.Canceled, true},
	} {
		var out bytes.Buffer
		r := httptest.NewRequestWithContext(c.ctx, "GET", "/api/v4.0/stats", nil)
		rest.LogFault(slog.New(slog.NewTextHandler(&out, nil)), r, &rest.Rejection{Status: c.status, Cause: c.cause})
		if got := strings.Contains(out.String(), "API request failed"); got != c.logged {
			t.Errorf("%s: logged %v, want %v: %s", name, got, c.logged, out.String())
		}
	}
}
