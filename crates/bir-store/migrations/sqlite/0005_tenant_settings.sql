-- Schema 3: what a tenant's administrators decide, JSON that the store reads as a whole; what is not in it is its default.
ALTER TABLE tenants ADD COLUMN settings TEXT NOT NULL DEFAULT '{}';
