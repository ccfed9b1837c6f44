package app

import (
	"context"
	"fmt"

	"github.com/stratamem/strata/internal/access/admin"
	"github.com/stratamem/strata/internal/access/auth"
	"github.com/stratamem/strata/internal/access/certificates"
	"github.com/stratamem/strata/internal/contexts/contextprofile"
	"github.com/stratamem/strata/internal/erasure"
	"github.com/stratamem/strata/internal/erasure/eraser"
	"github.com/stratamem/strata/internal/memory"
)

// credentials are what callers are known by.
type credentials struct {
	keys      *auth.Keys
	verifiers auth.Chain           // of all kinds that are configured: keys always
	tls       *certificates.Server // of the port; nil for none
}

// openCredentials opens the certificates of the port, and makes what knows the credentials that are configured.
func (b base) openCredentials() (credentials, error) {
	keys := auth.NewKeys(b.store, b.store.Now, b.log)
	c := credentials{keys: keys, verifiers: auth.Chain{keys}}
	if b.cfg.JWTIssuer != "" {
		tokens, err := b.newJWT()
		if err != nil {
			return c, err
		}
		c.verifiers = append(c.verifiers, tokens)
	}
	if b.cfg.TLSCert == "" {
		return c, nil
	}
	var err error
	c.tls, err = certificates.Open(certificates.Files{Cert: b.cfg.TLSCert, Key: b.cfg.TLSKey, ClientCA: b.cfg.TLSClientCA}, b.log)
	if err != nil {
		return c, fmt.Errorf("tls-cert: %w", err)
	}
	names := map[string]auth.Principal{}
	for name, rule := range b.cfg.ClientCertificates {
		names[name] = rule.Principal()
	}
	if len(names) > 0 {
		c.verifiers = append(c.verifiers, auth.NewCertificates(names, b.store.Now))
	}
	return c, nil
}

// newJWT makes what verifies tokens of the configured issuer.
func (b base) newJWT() (*auth.JWT, error) {
	role, err := auth.ParseRole(b.cfg.JWTOtherwise)
	if err != nil {
		return nil, fmt.Errorf("jwt-role: %w", err)
	}
	tokens, err := auth.NewJWT(auth.Issuer{
		URL: b.cfg.JWTIssuer, Audience: b.cfg.JWTAudience, KeySet: b.cfg.JWTKeys, Claims: auth.Claims{
			Tenant: b.cfg.JWTTenant, User: b.cfg.JWTUser, Role: b.cfg.JWTRole,
			Otherwise: auth.Principal{Tenant: auth.DefaultTenant, Role: role},
		},
	}, b.store.Now)
	if err != nil {
		return nil, fmt.Errorf("jwt-keys: %w", err)
	}
	return tokens, nil
}

// accessParts are what keys and tenants are administered with.
type accessParts struct {
	keys         *auth.Keys
	limits       limits
	models       *models
	profiles     contextprofile.Set
	eraseTenants func() // wakes what erases whole tenants
}

func (b base) newAccess(p accessParts) *admin.Access {
	return admin.NewAccess(admin.AccessOptions{
		Store: b.store, Now: b.store.Now, ForgetKey: p.keys.Forget, ForgetTenant: p.limits.tenants.Forget, Profiles: p.profiles.Known,
		Book: p.limits.book, Budget: p.limits.budget, Unpriced: p.models.own.unpriced, CheckModels: p.models.own.Check,
		EraseTenants: p.eraseTenants,
	})
}

// makeFirstKey makes the first key where that is asked for, and returns its token; "" where there is a key already.
func (b base) makeFirstKey(ctx context.Context, access *admin.Access) (string, error) {
	if !b.cfg.BootstrapKey {
		return "", nil
	}
	first := admin.NewAPIKey{Tenant: auth.DefaultTenant, Role: auth.RoleAdmin, Name: "bootstrap"}
	token, err := access.CreateFirstKey(ctx, first)
	if err != nil {
		return "", fmt.Errorf("make the first key: %w", err)
	}
	return token, nil
}

// newTenantEraser makes what erases whole tenants.
func (b base) newTenantEraser(users *eraser.Eraser) *erasure.Tenants {
	// A call that was let in before the tenant was suspended may write as long as a call may take.
	settle := b.cfg.RequestTimeout
	if b.stores.file == nil { // other servers may believe for a while that the tenant may call
		settle += auth.Believed
	}
	return erasure.NewTenants(erasure.TenantsOptions{
		Store: b.store, Settle: settle, Log: b.log, Now: b.store.Now,
		Erase: func(ctx context.Context, user memory.UserRef) error {
			_, err := users.Erase(ctx, eraser.Erase{Kind: memory.EraseUser, User: user})
			return err
		},
	})
}
