package certificates

import (
	"context"
	"maps"
	"net/http"
	"slices"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/client"
	"github.com/sluicelb/sluice/cmd/cli/command"
)

func certificateAdd(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "add FARM FILE", Short: "Add a certificate to the end of an https farm's list", Example: "  sluice certificate add shop shop.pem",
		Args: command.Exactly(2), ValidArgsFunction: farmThenCertificate(c),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := client.Path("farms", args[0], "certificates")
			if err != nil {
				return err
			}
			a, err := c.Send(cmd.Context(), http.MethodPost, path, map[string]any{"file": args[1]})
			return c.Finish(cmd, a, err)
		},
	}
}

func certificateRemove(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "remove FARM FILE", Short: "Remove a certificate from a farm without deleting it", Example: "  sluice certificate remove shop old.pem",
		Args: command.Exactly(2), ValidArgsFunction: farmThenOwn(c),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := farmPath(args[0], args[1])
			if err != nil {
				return err
			}
			return c.DeleteAt(cmd, path)
		},
	}
}

func certificateMove(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "move FARM FILE POSITION", Short: "Move a certificate in a farm's list; position 0 is the default certificate", Example: "  sluice certificate move shop shop.pem 0",
		Args: command.Exactly(3), ValidArgsFunction: farmThenOwn(c),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := farmPath(args[0], args[1], "actions")
			if err != nil {
				return err
			}
			a, err := c.Send(cmd.Context(), http.MethodPost, path, map[string]any{"position": args[2]})
			return c.Finish(cmd, a, err)
		},
	}
}

// farmThenOwn completes a farm, then one of its certificates.
func farmThenOwn(c *command.Line) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		if len(args) != 1 {
			return c.Completer(command.OneFarm, nil)(cmd, args, toComplete)
		}
		ctx, cancel := context.WithTimeout(context.Background(), command.CompletionTimeout)
		defer cancel()
		return slices.Sorted(maps.Keys(c.IDs(ctx).Farms[args[0]].Certificates)), cobra.ShellCompDirectiveNoFileComp
	}
}

func farmThenCertificate(c *command.Line) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 1 {
			return completeCertificates(c, 2)(cmd, args, toComplete)
		}
		return c.Completer(command.OneFarm, nil)(cmd, args, toComplete)
	}
}
