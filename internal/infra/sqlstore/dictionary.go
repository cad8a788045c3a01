package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/papertrace/patra/internal/domain/query"
	"github.com/papertrace/patra/internal/domain/source"
)

// seedDictionary makes the tables of codes say what this build knows. They are
// there for people and their queries; the compiler asks the value itself.
func (s *Store) seedDictionary(ctx context.Context) (err error) {
	t, err := s.w.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("seed the dictionary: %w", err)
	}
	defer func() {
		if err != nil {
			err = s.explain(errors.Join(fmt.Errorf("seed the dictionary: %w", err), t.Rollback()))
		}
	}()
	var types, items, aliases []any
	for _, d := range source.Dictionary() {
		types = append(types, d.Code, d.Name)
		for _, it := range d.Items {
			items = append(items, d.Code, it.Code, it.Name)
			for _, a := range it.Aliases {
				aliases = append(aliases, d.Code, a, it.Code)
			}
		}
	}
	var fields []any
	for _, f := range query.Default().Fields() {
		fields = append(fields, f.Key, f.Name, f.Description, string(f.DataType), f.Multi, !f.Hidden, f.Date, strings.Join(f.Aliases, " "))
	}
	for _, x := range []struct {
		table, cols string
		args        []any
	}{
		{"sys_dict_type", "type_code, type_name", types},
		{"sys_dict_item", "type_code, item_code, item_name", items},
		{"sys_dict_item_alias", "type_code, alias_code, item_code", aliases},
		{"reg_expr_field_dict", "field_key, display_name, description, data_type_code, is_multi, exposable, is_date, aliases", fields},
	} {
		if _, err := t.ExecContext(ctx, "DELETE FROM "+x.table); err != nil {
			return err
		}
		n := columns(x.cols)
		if _, err := t.ExecContext(ctx, "INSERT INTO "+x.table+" ("+x.cols+") VALUES "+marks(len(x.args)/n, n), x.args...); err != nil {
			return err
		}
	}
	return t.Commit()
}
