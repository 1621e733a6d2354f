package cli

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/spf13/cobra"
)

// The kinds of arguments that name something the appliance has.
type argument int

const (
	aFarm argument = iota
	aService
	aBackend
)

// completionTime bounds what a completion may wait for the appliance.
const completionTime = 2 * time.Second

// completer completes arguments that name objects, then settings. Without an
// appliance it offers nothing.
func (c *client) completer(kinds []argument, s *settings) cobra.CompletionFunc {
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

func (c *client) namesOf(ctx context.Context, kind argument, args []string) []string {
	switch kind {
	case aFarm:
		return c.farmNames(ctx)
	case aService:
		return c.serviceNames(ctx, args[0])
	default:
		return c.backendIDs(ctx, args[0], args[1])
	}
}

func (c *client) farmNames(ctx context.Context) []string {
	var body struct {
		Params []struct{ FarmName string }
	}
	if a, err := c.get(ctx, "/farms"); err != nil || a.into(&body) != nil {
		return nil
	}
	var out []string
	for _, f := range body.Params {
		out = append(out, f.FarmName)
	}
	return out
}

func (c *client) serviceNames(ctx context.Context, farm string) []string {
	var body struct{ Services []struct{ ID string } }
	if a, err := c.get(ctx, "/farms/"+url.PathEscape(farm)+"/summary"); err != nil || a.into(&body) != nil {
		return nil
	}
	var out []string
	for _, s := range body.Services {
		out = append(out, s.ID)
	}
	return out
}

func (c *client) backendIDs(ctx context.Context, farm, service string) []string {
	path, err := pathOf("farms", farm, "services", service, "backends")
	if err != nil {
		return nil
	}
	var body struct{ Params []backend }
	if a, err := c.get(ctx, path); err != nil || a.into(&body) != nil {
		return nil
	}
	var out []string
	for _, b := range body.Params {
		out = append(out, fmt.Sprintf("%d\t%s port %d", b.ID, b.IP, b.Port))
	}
	return out
}
