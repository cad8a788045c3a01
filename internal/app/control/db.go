package control

import "context"

// Schema is the version of a database's schema.
type Schema struct {
	Store string
	// Have is the version it is, Need the one this patra needs.
	Have, Need int64
	// Applied is how many migrations were applied just now.
	Applied int
}

// SchemaOf tells the version of a database's schema.
func SchemaOf(ctx context.Context, db SchemaStore) (Schema, error) {
	have, need, err := db.Schema(ctx)
	if err != nil {
		return Schema{}, err
	}
	return Schema{Store: db.DSN(), Have: have, Need: need}, nil
}

// Migrate brings the schema of a database up to date.
func Migrate(ctx context.Context, db SchemaStore) (Schema, error) {
	done, err := db.Migrate(ctx)
	if err != nil {
		return Schema{}, err
	}
	s, err := SchemaOf(ctx, db)
	s.Applied = len(done)
	return s, err
}
