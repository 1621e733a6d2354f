package demo

import (
	"context"
	"crypto/rand"
	"net/http"
	"strings"
)

// guest is who signs in to the GUI of the demonstration: with a password that holds
// until the next start, as an administrator of its farm.
type guest struct{ name, password string }

const guestName = "demo"

// invite makes the guest anew.
func invite(ctx context.Context, c *client) (guest, error) {
	g := guest{guestName, newPassword()}
	// What an earlier start left goes first; a first start has nothing to delete.
	_ = c.call(ctx, http.MethodDelete, pathOf("rbac", "groups", g.name), nil, nil)
	_ = c.call(ctx, http.MethodDelete, pathOf("rbac", "users", g.name), nil, nil)
	for _, step := range []struct {
		method, path string
		body         map[string]any
	}{
		{http.MethodPost, pathOf("rbac", "users"), map[string]any{"name": g.name, "password": g.password}},
		{http.MethodPut, pathOf("rbac", "users", g.name), map[string]any{"webgui_permissions": "true"}},
		{http.MethodPost, pathOf("rbac", "groups"), map[string]any{"name": g.name}},
		{http.MethodPut, pathOf("rbac", "groups", g.name), map[string]any{"role": "administration"}},
		{http.MethodPost, pathOf("rbac", "groups", g.name, "users"), map[string]any{"name": g.name}},
		{http.MethodPost, pathOf("rbac", "groups", g.name, "farms"), map[string]any{"name": farmName}},
	} {
		if err := c.call(ctx, step.method, step.path, step.body, nil); err != nil {
			return guest{}, err
		}
	}
	return g, nil
}

// newPassword is short enough to be typed, and longer than anybody guesses: twelve
// letters and digits of an alphabet of 32.
func newPassword() string {
	text := strings.ToLower(rand.Text())
	return text[:4] + "-" + text[4:8] + "-" + text[8:12] + "-1" // a digit is wanted
}
