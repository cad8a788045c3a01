package httpapi_test

import (
	"testing"

	"github.com/papertrace/patra/internal/patratest"
)

func TestMain(m *testing.M) { patratest.Main(m) }
