package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// argument is a kind of argument that names an object of the appliance.
type argument int

const (
	aFarm argument = iota
	aService
	aBackend
	aUser
	aGroup
	aRole
	aBackup
	aRevision
	aTag
	aKey
	aLogIn
	anAlias
	aCheck
	aWebhook
	aCertificate
	anAuthority
	aWord // free text
)

// lists are the sources of names that are not in /ids: path, name field, and description
// field.
var lists = map[argument][]struct{ path, name, about string }{
	aUser:     {{"/rbac/users", "name", "group"}},
	aGroup:    {{"/rbac/groups", "name", "role"}},
	aRole:     {{"/rbac/roles", "name", ""}},
	aBackup:   {{"/system/backup", "name", "date"}},
	aRevision: {{"/history/tags", "name", "comment"}, {"/history", "number", "comment"}},
	aTag:      {{"/history/tags", "name", "comment"}},
	aKey:      {{"/keys", "id", "comment"}},
	aLogIn:    {{"/rbac/sessions", "session", "user"}},
	aCheck:    {{healthChecks, "name", "description"}},
	aWebhook:  {{webhooks, "name", "url"}},

	aCertificate: {{"/certificates", "file", "status"}},
	anAuthority:  {{"/certificates/ca", "name", "status"}},
	anAlias:      {{"/aliases/backends", "id", "alias"}, {"/aliases/interfaces", "id", "alias"}},
}

// completionTime bounds a completion's requests.
const completionTime = 2 * time.Second

// completer completes arguments that name objects, then settings. Without an appliance it
// offers nothing.
func (c *client) completer(kinds []argument, s *settings) cobra.CompletionFunc {
	if s != nil {
		s.lookUp = c.namesNow
	}
	return func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= len(kinds) {
			if s != nil {
				return s.complete(toComplete)
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(context.Background(), completionTime)
		defer cancel()
		return c.namesOf(ctx, kinds[len(args)], args), cobra.ShellCompDirectiveNoFileComp
	}
}

// namesNow returns the names of a kind within completionTime.
func (c *client) namesNow(kind argument) []string {
	ctx, cancel := context.WithTimeout(context.Background(), completionTime)
	defer cancel()
	return c.namesOf(ctx, kind, nil)
}

func (c *client) namesOf(ctx context.Context, kind argument, args []string) (out []string) {
	switch kind {
	case aFarm:
		return slices.Sorted(maps.Keys(c.ids(ctx).Farms))
	case aService:
		return c.ids(ctx).Farms[args[len(args)-1]].services() // its farm precedes it
	}
	for _, of := range lists[kind] {
		var body struct{ Params []map[string]any }
		if a, err := c.get(ctx, of.path); err != nil || a.into(&body) != nil {
			continue // the user may lack the permission
		}
		for _, one := range body.Params {
			out = append(out, strings.TrimSuffix(fmt.Sprint(one[of.name])+"\t"+fmt.Sprint(orBlank(one[of.about])), "\t"))
		}
	}
	return out
}

// ids are the names of all objects, as returned by the appliance for completion.
type ids struct {
	Farms map[string]farmIDs
}

type farmIDs struct {
	Services     map[string]any
	Certificates map[string]any
}

// wholeFarm is the key in /ids for the backends of a farm without services.
const wholeFarm = "default_service"

func (f farmIDs) services() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(f.Services)), func(name string) bool { return name == wholeFarm && len(f.Services) == 1 })
}

// ids returns all names, or none without an appliance.
func (c *client) ids(ctx context.Context) ids {
	var body struct{ Params ids }
	if a, err := c.get(ctx, "/ids"); err != nil || a.into(&body) != nil {
		return ids{}
	}
	return body.Params
}

// oneFarm completes a single farm argument.
var oneFarm = []argument{aFarm}

const healthChecks = "/monitoring/fg"

const webhooks = "/system/notifications/methods/webhooks"

// completing requests data for a completion.
func (c *client) completing(cmd *cobra.Command, path string, to any) bool {
	ctx := cmd.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, completionTime)
	defer cancel()
	a, err := c.get(ctx, path)
	return err == nil && a.into(to) == nil
}
